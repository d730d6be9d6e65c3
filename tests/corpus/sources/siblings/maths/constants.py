ONE = float(open('one.txt').read())
