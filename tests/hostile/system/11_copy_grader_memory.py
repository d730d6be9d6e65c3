"""11. Copy the grader's memory with process_vm_readv, or write into it."""

import ctypes
import os


class Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(64)
    here = Span(ctypes.addressof(buffer), 8)
    there = Span(ctypes.addressof(buffer), 8)  # a forked process has much at the same address
    for pid in (world["grader"], os.getppid()):
        for copy in (libc.process_vm_readv, libc.process_vm_writev):
            if copy(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0 or ctypes.get_errno() == 14:
                return pid  # EFAULT: we were let in, only the address is wrong
    raise PermissionError
