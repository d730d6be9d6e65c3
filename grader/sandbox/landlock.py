"""Landlock: an unprivileged process gives up the file system, the network and signals to others.

The numbers and structures are those of the kernel's `include/uapi/linux/landlock.h`; the three system calls
have the same numbers on every architecture that PyTorch runs on. A kernel knows a version of the interface
("ABI"); what an older one can't restrict is left to the other layers.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable

from grader.sandbox import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_IOCTL_DEV = 1 << 15
_FILE_RIGHTS = _WRITE_FILE | _READ_FILE | _IOCTL_DEV


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """The kernel's version of the interface, from 1. Raises OSError with the reason when it can't be used."""
    return kernel.syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)


def why_missing(error: OSError) -> tuple[str, str]:
    """(reason, mend) for the error that `abi` raised."""
    if error.errno == errno.EOPNOTSUPP:
        return "Landlock is switched off in this kernel", 'start it with "landlock" in the kernel setting lsm='
    if error.errno == errno.EPERM:
        return "the container's seccomp profile refuses Landlock", "use Docker 23 or newer, or a profile that allows it"
    return "this kernel has no Landlock", "use Linux 5.13 or newer (6.12 or newer for all of it)"


def restrict(version: int, readable: Iterable[str], writable: Iterable[str] = ()) -> None:
    """From now on, and for good: read only beneath `readable`, write only the devices in `writable`.

    Nothing can be executed, made, renamed or removed; no TCP (ABI 4), no device settings (5), and no signal
    or abstract socket to a process outside (6). Paths that aren't there are left out. Needs no_new_privs.
    Raises OSError.
    """
    rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    handled = (1 << rights) - 1
    ruleset = _Ruleset(handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    # An old kernel refuses a structure that is longer than the one it knows unless the rest is zero.
    descriptor = kernel.syscall(_CREATE_RULESET, ruleset, ctypes.sizeof(ruleset), 0)
    try:
        for path in readable:
            _allow(descriptor, path, (_READ_FILE | _READ_DIR) & handled)
        for path in writable:
            _allow(descriptor, path, _FILE_RIGHTS & handled)
        kernel.syscall(_RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what this process can't reach itself needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _FILE_RIGHTS
        kernel.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, _PathBeneath(rights, parent), 0)
    finally:
        os.close(parent)
