"""20. Open a file that only the grader may read, by every way to open one."""

import ctypes
import mmap
import os
import shutil


def attack(world):
    path = world["secret"]
    libc = ctypes.CDLL(None, use_errno=True)

    def by_openat():
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        return os.read(os.open(os.path.basename(path), os.O_RDONLY, dir_fd=folder), 99).decode()

    def by_map():
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            return memory[:].decode()

    def by_copy():
        copied = shutil.copy(path, f"/tmp/{world['word']}-copy")
        text = open(copied).read()
        os.unlink(copied)
        return text

    def by_link():
        link = f"/tmp/{world['word']}-link"
        os.symlink(path, link)
        try:
            return open(link).read()
        finally:
            os.unlink(link)

    def by_libc():
        libc.fopen.restype = ctypes.c_void_p
        if not libc.fopen(path.encode(), b"r"):
            raise PermissionError
        return "opened"

    for way in (lambda: open(path).read(), by_openat, by_map, by_copy, by_link, by_libc):
        try:
            return way()
        except OSError:
            pass
    raise PermissionError
