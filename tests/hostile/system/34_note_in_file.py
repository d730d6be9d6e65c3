"""34, 42. Leave a file for a later run, anywhere."""

import os


def attack(world):
    places = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/var/lock", os.path.expanduser("~"), world["office"], "."]
    for folder in places:
        try:
            with open(f"{folder}/{world['word']}-note", "w") as file:
                file.write("cases: 7")
            return folder
        except OSError:
            pass
    raise PermissionError
