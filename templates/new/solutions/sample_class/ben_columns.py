def centre_rows(x):
    return x - x.mean(dim=-2, keepdim=True)
