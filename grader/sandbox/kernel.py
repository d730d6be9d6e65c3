"""The few calls to the Linux kernel that Python's standard library has no function for."""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
MADV_COLLAPSE = 25

LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None


def prctl(option: int, argument: int = 0, pointer: object = None) -> int:
    """`prctl(2)`. Raises OSError."""
    assert _libc is not None
    third = ctypes.c_void_p() if pointer is None else ctypes.byref(pointer)  # type: ignore[arg-type]
    return _checked(
        _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), third, ctypes.c_ulong(), ctypes.c_ulong())
    )


def collapse(address: int, length: int) -> None:
    """`madvise(2)`: put this range of the process's memory into huge pages now. Raises OSError."""
    assert _libc is not None
    _checked(_libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_int(MADV_COLLAPSE)))


def syscall(number: int, *arguments: int | ctypes._CData | None) -> int:
    """A system call that libc has no wrapper for; structures are passed by reference. Raises OSError."""
    assert _libc is not None
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
    assert _libc is not None
    header = _CapabilityHeader(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref(_CapabilitySets())))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
