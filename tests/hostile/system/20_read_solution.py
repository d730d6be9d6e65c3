"""20. Open the real hidden checks, the real solution and the course secret of this checkout."""

import os


def attack(world):
    for folder, _, names in os.walk(world["solutions"]):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                return name, len(file.read())
    raise PermissionError
