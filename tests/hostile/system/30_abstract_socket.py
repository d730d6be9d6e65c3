"""30. Reach another process by an abstract Unix socket, which no file permission guards."""

import socket


def attack(world):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect("\0" + world["abstract"])
        channel.sendall(world["word"].encode())
    return "sent"
