"""30. Send a UDP packet, as a name server would get one."""

import socket


def attack(world):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.sendto(world["word"].encode(), ("127.0.0.1", world["udp"]))
    return "sent"
