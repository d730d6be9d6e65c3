"""30. Send to an address over the descriptor of the answers, or pass a descriptor through it."""

import os
import socket
import stat


def attack(world):
    for descriptor in range(3, 1024):
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
        except OSError:
            continue
        channel = socket.socket(fileno=os.dup(descriptor))
        for way in (
            lambda channel: channel.sendto(b"x", world["unix"]),
            lambda channel: channel.connect(world["unix"]),
            lambda channel: socket.socketpair()[0].fileno(),
            lambda channel: channel.sendmsg([b""], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"\0\0\0\0")], 0, world["unix"]),
        ):
            try:
                return way(channel)
            except OSError:
                pass
    raise PermissionError
