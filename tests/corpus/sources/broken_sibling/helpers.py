def fill(scores, mask)
    return scores
