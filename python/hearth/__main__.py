"""python -m hearth: the hearth command."""

from ._command import main

main()
