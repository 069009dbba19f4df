"""`python -m bpenb_cli` is `bpenb`, where no script is on the path."""

from bpenb_cli.main import main

main()
