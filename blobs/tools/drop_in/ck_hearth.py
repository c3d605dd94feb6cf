"""What the drop-in programs of a build share: where hearth is, and handing over to it."""
import os
import sys
from pathlib import Path


def program(name):
    """The path of one of hearth's programs: of $HEARTH_BIN_DIR, else on PATH."""
    # Relative folders of PATH are of the current folder, which may be anybody's.
    folders = [os.environ.get("HEARTH_BIN_DIR", ""), *os.get_exec_path()]
    for folder in folders:
        path = Path(folder, name)
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    tool = os.path.basename(sys.argv[0])
    sys.exit(f"{tool}: {name} is neither in $HEARTH_BIN_DIR nor on PATH; install Hearth's package hearth-blobs")


def become(name, *words, called=None):
    """Runs the program with these words in place of this one. `called`: what it sees as its own name."""
    path = program(name)
    sys.stdout.flush()
    os.execv(path, [called or path, *words])
