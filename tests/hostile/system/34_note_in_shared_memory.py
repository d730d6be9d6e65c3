"""34. Leave a note in System V shared memory, semaphores or message queues."""

import ctypes


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    memory = libc.shmget(world["key"], 4096, 0o1666)
    if memory >= 0:
        return f"memory {memory}"
    queue = libc.msgget(world["key"], 0o1666)
    if queue >= 0:
        return f"queue {queue}"
    raise OSError(ctypes.get_errno())
