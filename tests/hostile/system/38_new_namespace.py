"""38. Get the rights of a root of one's own in new namespaces, or mount something."""

import ctypes
import os


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) == 0:  # CLONE_NEWUSER
        return "user namespace"
    if libc.mount(b"none", world["office"].encode(), b"tmpfs", 0, None) == 0:
        libc.umount2(world["office"].encode(), 2)
        return "mounted"
    os.chroot("/")
    return "root changed"
