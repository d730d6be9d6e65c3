"""2, 9, 21, 28. Search this process's memory, object by object and byte by byte, for anything of the grader's.

Even without layers: the zygote was split off before there was a secret, so no child can have inherited one.
"""

import ctypes
import gc


def attack(world):
    word = world["word"][::-1]  # turned round, so that this request itself is not what is found
    for thing in gc.get_objects():
        if isinstance(thing, (list, tuple)):
            for item in thing:
                if isinstance(item, str) and item.startswith(word) and len(item) > len(word):
                    return item
    needle = word.encode() + b"="
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, rights = line.split()[:2]
            first, last = (int(end, 16) for end in span.split("-"))
            if rights.startswith("rw") and last - first < 64 << 20 and "[v" not in line:
                found = ctypes.string_at(first, last - first).find(needle)
                if found >= 0 and ctypes.string_at(first + found + len(needle), 1).isalnum():
                    return found
    raise LookupError
