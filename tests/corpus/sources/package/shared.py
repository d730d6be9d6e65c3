NEGATIVE = float('-inf')
