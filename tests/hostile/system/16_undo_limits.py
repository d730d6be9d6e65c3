"""16. Raise this process's own limits again."""

import resource


def attack(world):
    done = []
    for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE"):
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        wanted = 1 << 40 if hard == resource.RLIM_INFINITY else hard + 1
        try:
            resource.setrlimit(number, (wanted, wanted))
            done.append(name)
        except (OSError, ValueError):
            pass
    if not done:
        raise PermissionError
    return done
