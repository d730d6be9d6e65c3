"""43. Answer with a list in a list in a list, a hundred thousand deep.

Ends as: malformed
"""


def attack(world):
    answer = []
    for _ in range(100000):
        answer = [answer]
    return answer
