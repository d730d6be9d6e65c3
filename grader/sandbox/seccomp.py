"""seccomp: the list of system calls that student code may make. Everything else fails, and nothing can undo it.

libseccomp knows each architecture's numbers, so only names stand here; a name that an architecture lacks is
left out. Compiling takes milliseconds and happens once, in the zygote; a child only installs the program.

What is refused on purpose gives EPERM, which Python reports as a PermissionError; what nobody has thought of
gives ENOSYS, so that libc falls back as it does on an older kernel.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
import termios
from dataclasses import dataclass
from typing import Any

from grader.sandbox import kernel

_ALWAYS = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close close_range lseek _llseek dup dup2 dup3
fstat fstat64 stat stat64 lstat lstat64 newfstatat fstatat64 statx access faccessat faccessat2 readlink readlinkat
getcwd chdir fchdir getdents getdents64 fadvise64 fadvise64_64 fstatfs fstatfs64 umask
pipe pipe2 eventfd eventfd2 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64
recvfrom recv shutdown getsockopt getsockname getpeername
brk mmap mmap2 munmap mremap mprotect madvise msync mincore membarrier
futex futex_time64 futex_waitv set_robust_list set_tid_address rseq sched_yield getcpu
sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
rt_sigaction rt_sigprocmask rt_sigreturn sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack
restart_syscall pause alarm setitimer getitimer timerfd_create timerfd_settime timerfd_gettime
nanosleep clock_nanosleep clock_nanosleep_time64 clock_gettime clock_gettime64 clock_getres clock_getres_time64
gettimeofday time times getrusage sysinfo uname getrandom getrlimit ugetrlimit setrlimit getpriority
getpid getppid gettid getpgid getpgrp getsid getuid geteuid getresuid getgid getegid getresgid getgroups capget
arch_prctl exit exit_group riscv_hwprobe riscv_flush_icache
"""

_OPENING = "open openat openat2"

_REFUSED = """
creat fork vfork execve execveat socket socketpair socketcall connect bind listen accept accept4
sendmsg sendmmsg recvmsg
mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat mknod mknodat
truncate truncate64 ftruncate ftruncate64 fallocate chmod fchmod fchmodat fchmodat2 chown fchown fchownat lchown
utime utimes utimensat futimesat setxattr lsetxattr fsetxattr removexattr flock sendfile splice tee vmsplice
copy_file_range memfd_create memfd_secret shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semctl
mq_open mq_unlink mq_notify ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp
pidfd_open pidfd_getfd pidfd_send_signal tkill rt_sigqueueinfo rt_tgsigqueueinfo
setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset setsid setpgid
setpriority ioprio_set sched_setaffinity sched_setscheduler sched_setparam sched_setattr
mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsmount fspick mount_setattr
add_key request_key keyctl inotify_init inotify_init1 inotify_add_watch fanotify_init fanotify_mark
io_uring_setup io_uring_enter io_uring_register io_setup io_submit bpf perf_event_open userfaultfd
name_to_handle_at open_by_handle_at mlock mlock2 mlockall reboot syslog acct quotactl swapon swapoff
sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime init_module finit_module kexec_load
landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp get_robust_list
"""

_FOR_CUDA = """
mlock mlock2 munlock memfd_create ftruncate mbind get_mempolicy set_mempolicy sched_setaffinity ioctl
"""

_CLONE_THREAD = 0x00010000
_OWN_PID = 0x5EC0_71D0
"""Stands in a compiled program for the process id of the child that will install it."""

_FCNTL = (
    fcntl.F_DUPFD,
    fcntl.F_DUPFD_CLOEXEC,
    fcntl.F_GETFD,
    fcntl.F_SETFD,
    fcntl.F_GETFL,
    fcntl.F_SETFL,
)
_IOCTL = (termios.FIOCLEX, termios.FIONCLEX, termios.FIONBIO, termios.FIONREAD, termios.TCGETS, termios.TIOCGWINSZ)
# PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_SET_VMA (libc names its memory)
_PRCTL = (3, 15, 16, 23, 39, 0x53564D41)


@dataclass(frozen=True)
class Program:
    """A compiled filter: 8 bytes an instruction, and where in it the child's own process id belongs."""

    code: bytes
    pid_offsets: tuple[int, ...]


def usable() -> None:
    """Raises OSError when the kernel has no seccomp filters, ImportError or RuntimeError without libseccomp."""
    kernel.prctl(kernel.PR_GET_SECCOMP)
    import pyseccomp  # noqa: F401 - loads libseccomp


def compile_filter(*, opening: bool, gpu: bool = False, machine: str = "") -> Program:
    """Compile the filter. `opening`: files may be opened, because Landlock decides which.

    `machine`: "X86_64", "AARCH64" and so on, for compiling on another machine than it will run on.
    """
    import pyseccomp as lib

    native = lib.system_arch()
    arch = getattr(lib.Arch, machine) if machine else native
    made = lib.SyscallFilter(lib.ERRNO(errno.ENOSYS))
    made.set_attr(lib.Attr.ACT_BADARCH, lib.KILL_PROCESS)  # 32-bit and x32 entry points would dodge the list
    if arch != native:
        made.add_arch(arch)
        made.remove_arch(native)

    def rule(action: int, name: str, *conditions: Any) -> None:
        number = lib.resolve_syscall(native, name)
        if lib.resolve_syscall(arch, name) >= 0:
            made.add_rule(action, number, *conditions)

    refuse = lib.ERRNO(errno.EPERM)
    own = set(_FOR_CUDA.split()) if gpu else set()
    for name in (*_ALWAYS.split(), *sorted(own)):
        rule(lib.ALLOW, name)
    for name in _OPENING.split():
        rule(lib.ALLOW if opening else lib.ERRNO(errno.EACCES), name)
    for name in _REFUSED.split():
        if name not in own:
            rule(refuse, name)

    threads = lib.Arg(0, lib.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
    rule(lib.ALLOW, "clone", threads)
    rule(refuse, "clone", lib.Arg(0, lib.MASKED_EQ, _CLONE_THREAD, 0))
    for name, position, value in (
        ("kill", 0, _OWN_PID),
        ("tgkill", 0, _OWN_PID),  # abort() raises its signal with it
        ("prlimit64", 0, 0),
        ("sendto", 4, 0),  # to whom the channel is connected, never to an address
        ("personality", 0, 0xFFFFFFFF),
    ):
        rule(lib.ALLOW, name, lib.Arg(position, lib.EQ, value))
        rule(refuse, name, lib.Arg(position, lib.NE, value))
    for name, position, values in (("fcntl", 1, _FCNTL), ("fcntl64", 1, _FCNTL), ("prctl", 0, _PRCTL)):
        for value in values:
            rule(lib.ALLOW, name, lib.Arg(position, lib.EQ, value))
    if not gpu:
        for value in _IOCTL:
            rule(lib.ALLOW, "ioctl", lib.Arg(1, lib.EQ, value))
    return _exported(made)


def _exported(made: Any) -> Program:
    reader, writer = os.pipe()  # a program of some kilobytes fits a pipe's buffer
    with os.fdopen(reader, "rb") as source:
        with os.fdopen(writer, "wb") as target:
            made.export_bpf(target)
        code = source.read()
    operands = [operand for _, _, _, operand in struct.iter_unpack("=HBBI", code)]
    return Program(code, tuple(8 * index + 4 for index, operand in enumerate(operands) if operand == _OWN_PID))


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def install(program: Program) -> None:
    """Put the calling thread under `program`, for good. Needs no_new_privs. Raises OSError."""
    code = bytearray(program.code)
    for offset in program.pid_offsets:
        struct.pack_into("=I", code, offset, os.getpid())
    memory = ctypes.create_string_buffer(bytes(code), len(code))
    mode_filter = 2
    kernel.prctl(kernel.PR_SET_SECCOMP, mode_filter, _Filter(len(code) // 8, ctypes.cast(memory, ctypes.c_void_p)))
