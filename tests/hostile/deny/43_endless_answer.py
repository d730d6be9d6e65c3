"""43. Answer with a list that contains itself, and with more numbers than fit.

Ends as: malformed
"""


def attack(world):
    answer = [0.5] * 1000000
    answer.append(answer)
    return answer
