"""3. Write a better mark into the results file."""


def attack(world):
    with open(world["result"], "w") as file:
        file.write('{"score": 100}')
    return "written"
