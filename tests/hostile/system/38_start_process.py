"""38. Start another process, by every way to start one."""

import ctypes
import os
import subprocess


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)

    def fork():
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        return os.waitpid(pid, 0)[0]

    def clone_without_a_wrapper():
        pid = libc.syscall(ctypes.c_long({"x86_64": 56}.get(os.uname().machine, 220)), 17, None, None, None, None)
        if pid == 0:
            os._exit(0)
        if pid < 0:
            raise OSError(ctypes.get_errno())
        return os.waitpid(pid, 0)[0]

    for way in (
        fork,
        clone_without_a_wrapper,
        lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[0],
        lambda: subprocess.run(["/bin/true"], check=True).returncode,
        lambda: 0 if os.system("true") == 0 else os.waitpid(-2, 0),
    ):
        try:
            return str(way())
        except (OSError, subprocess.SubprocessError):
            pass
    raise PermissionError
