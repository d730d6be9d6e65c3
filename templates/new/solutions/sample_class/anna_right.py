def centre_rows(x):
    return x - x.sum(-1, keepdim=True) / x.shape[-1]
