"""35. Never end, while the file is being loaded.

Ends as: timeout while loading
"""



def loop():
    while True:
        pass


NUMBER = loop()


def attack(world):
    return NUMBER
