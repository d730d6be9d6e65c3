"""29. Be a server that lets somebody in."""

import socket


def attack(world):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        return server.getsockname()[1]
