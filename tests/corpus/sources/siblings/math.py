sqrt = None
