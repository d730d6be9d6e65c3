"""34. Leave a note in a POSIX message queue."""

import ctypes


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.mq_open(f"/{world['word']}".encode(), 0o102, 0o600, None)
    if queue < 0:
        raise OSError(ctypes.get_errno())
    libc.mq_unlink(f"/{world['word']}".encode())
    return queue
