# TODO

# later
