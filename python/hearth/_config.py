"""hearth.show_config: what a report of a fault needs."""

import os
import platform
import sys

from . import _hearth


def show_config():
    """Prints versions, where things lie, the settings in the environment, and the daemon."""
    from . import daemon
    from ._errors import Error

    print(f"hearth {_hearth.__version__}, Python {platform.python_version()}, {platform.platform()}")
    print(f"package: {os.path.dirname(os.path.abspath(__file__))}")
    for name in ("numpy", "torch", "ml_dtypes"):
        module = sys.modules.get(name)
        if module is not None:
            print(f"{name} {module.__version__}")
    settings = {name: value for name, value in sorted(os.environ.items()) if name.startswith("HEARTH_") and "TOKEN" not in name}
    for name, value in settings.items():
        print(f"{name}={value!r}")
    try:
        print(f"command: {daemon._command()}")
        found = daemon.status()
    except Error as error:
        print(f"daemon: {error}")
        return
    if found is None:
        print("daemon: none runs; the next prepare starts one")
    for word, value in (found or {}).items():
        if isinstance(value, (str, int, float, bool)):
            print(f"daemon {word}: {value}")
