"""29. Connect to a server and send it something."""

import socket


def attack(world):
    with socket.create_connection(("127.0.0.1", world["tcp"]), timeout=1) as channel:
        channel.sendall(world["word"].encode())
    return "sent"
