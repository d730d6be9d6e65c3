"""10. Watch the results folder, to rewrite them the moment they are written."""

import ctypes


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    watcher = libc.inotify_init1(0)
    if watcher < 0 or libc.inotify_add_watch(watcher, world["office"].encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno())
    return watcher
