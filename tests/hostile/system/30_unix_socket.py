"""30. Reach another process by a Unix socket in the file system."""

import socket


def attack(world):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect(world["unix"])
        channel.sendall(world["word"].encode())
    return "sent"
