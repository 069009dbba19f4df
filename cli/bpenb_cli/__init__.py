"""The command line of bpenb: one file per command; `main.py` assembles them."""
