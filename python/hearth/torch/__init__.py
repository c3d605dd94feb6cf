"""Torch's models, compiled: torch.compile(model, backend="hearth"), and exported programs as plan files.

    model = torch.compile(model.eval(), backend="hearth")

    f = hearth.torch.load("model.pt2")      # or a torch.export.ExportedProgram
    f.save("model.hearth")                  # hearth.load reads it with neither torch nor a daemon
"""

import torch as _torch

_version = tuple(int(part) for part in _torch.__version__.split("+")[0].split(".")[:2])
if _version < (2, 9):
    raise ImportError(f"hearth.torch needs torch 2.9 or later; this is {_torch.__version__}")

from .backend import backend, explain  # noqa: E402
from .backend import collecting as _collecting  # noqa: E402, F401
from .exported import ExportedFunction, load  # noqa: E402
from .library import run  # noqa: E402
from .weights import refresh  # noqa: E402

__all__ = ["ExportedFunction", "backend", "explain", "load", "refresh", "run"]
