"""The few calls to the Linux kernel that Python's standard library has no function for. Ask `LINUX` first."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
MADV_COLLAPSE = 25
MREMAP_MAYMOVE_FIXED = 3

LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, argument: int = 0, pointer: object = None) -> int:
    """`prctl(2)`. Raises OSError."""
    third = ctypes.c_void_p() if pointer is None else ctypes.byref(pointer)  # type: ignore[arg-type]
    return _checked(
        _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), third, ctypes.c_ulong(), ctypes.c_ulong())
    )


def collapse(address: int, length: int) -> None:
    """`madvise(2)`: put this range of the process's memory into huge pages now. Raises OSError."""
    _checked(_libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_int(MADV_COLLAPSE)))


def map_memory(length: int) -> int:
    """`mmap(2)`: fresh memory to read and write; its address. Raises OSError."""
    rights = ctypes.c_int(mmap.PROT_READ | mmap.PROT_WRITE)
    kind = ctypes.c_int(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    no_file = ctypes.c_int(-1)
    _libc.mmap.restype = ctypes.c_long  # -1 says that it failed
    return _checked(_libc.mmap(None, ctypes.c_size_t(length), rights, kind, no_file, ctypes.c_long()))


def unmap(address: int, length: int) -> None:
    """`munmap(2)`, where there is anything to unmap. Raises OSError."""
    if length:
        _checked(_libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length)))


def make_code(address: int, length: int) -> None:
    """`mprotect(2)`: this range may be read and run, and no longer written. Raises OSError."""
    rights = mmap.PROT_READ | mmap.PROT_EXEC
    _checked(_libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_int(rights)))


def move(address: int, length: int, to: int) -> None:
    """`mremap(2)`: put this range at another address, in the place of what is there, in one step. Raises OSError."""
    _libc.mremap.restype = ctypes.c_long
    size, way = ctypes.c_size_t(length), ctypes.c_int(MREMAP_MAYMOVE_FIXED)
    _checked(_libc.mremap(ctypes.c_void_p(address), size, size, way, ctypes.c_void_p(to)))


def syscall(number: int, *arguments: int | ctypes._CData | None) -> int:
    """A system call that libc has no wrapper for; structures are passed by reference. Raises OSError."""
    passed = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument and ctypes.byref(argument)
        for argument in arguments
    ]
    return _checked(_libc.syscall(ctypes.c_long(number), *passed))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySets(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


def drop_capabilities() -> None:
    """Give up every capability: a root that can't change its uid is then an ordinary user that is called root."""
    header = _CapabilityHeader(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref(_CapabilitySets())))


def tell(path: str, data: bytes) -> None:
    """Write to a file of the kernel's. `pathlib` and text would cost a child more than all else that it does with them.

    Raises OSError.
    """
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def told(path: str) -> bytes:
    """Read a short file of the kernel's. Raises OSError."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, mmap.PAGESIZE)
    finally:
        os.close(file)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
