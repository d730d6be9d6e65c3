"""30. Ask the kernel about the network, and open other families of sockets."""

import socket


def attack(world):
    for family, kind in ((16, socket.SOCK_RAW), (40, socket.SOCK_STREAM), (38, socket.SOCK_SEQPACKET), (17, socket.SOCK_RAW)):
        try:
            with socket.socket(family, kind):  # netlink, vsock, the kernel's ciphers, packets
                return family
        except OSError:
            pass
    raise PermissionError
