"""Hearth: models compiled once for a machine and replayed by every process.

    f = hearth.load("model.onnx", dims={"batch": (1, 8)})
    y = f(x)                       # numpy in, numpy out; torch in, torch out
"""

from ._errors import (
    Aborted,
    AlreadyExists,
    CallError,
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from ._hearth import Array, Function, Stream, __version__
from ._dims import Range
from ._load import load
from ._types import Outputs, Stats, Value, Variable, WeightsReport

__all__ = [
    "Aborted",
    "AlreadyExists",
    "Array",
    "CallError",
    "Cancelled",
    "DataLoss",
    "DeadlineExceeded",
    "Error",
    "FailedPrecondition",
    "Function",
    "Internal",
    "InvalidArgument",
    "NotFound",
    "OutOfRange",
    "Outputs",
    "PermissionDenied",
    "Range",
    "ResourceExhausted",
    "Stats",
    "Stream",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Value",
    "Variable",
    "WeightsReport",
    "__version__",
    "load",
]


def _check_neighbours():
    """A distribution named "hearth" is another project's: its files lie in this same folder."""
    import os

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        entries = os.listdir(folder)
    except OSError:
        return
    for entry in entries:
        if entry.startswith("hearth-") and entry.endswith((".dist-info", ".egg-info")):
            import warnings

            warnings.warn(
                f"{entry} in {folder} is another project's package of the name hearth, and its files are mixed with"
                " those of hearth-compiler: uninstall both, then install hearth-compiler alone",
                stacklevel=3,
            )


_check_neighbours()
