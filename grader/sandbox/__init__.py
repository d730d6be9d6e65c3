"""The only code that ever meets student code. The door is `interface.py`; importing this package is free."""
