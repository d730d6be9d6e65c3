"""22. Use files that the grader left open in this process.

Even without layers: every descriptor but the channel is closed before anything else.
"""

import os
import stat


def attack(world):
    channels, others = [], []
    for descriptor in range(3, 2048):
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        (channels if stat.S_ISSOCK(found.st_mode) else others).append(descriptor)
    if others or len(channels) > 1:
        return channels + others
    raise LookupError
