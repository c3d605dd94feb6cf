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
from . import ops
from ._array_api import *
from ._array_api import LATER as _array_api_later
from ._array_api import __all__ as _array_api_names
from ._dims import Range
from ._dtypes import DType
from ._errors import CompileWarning, TraceError, TraceWarning
from ._hearth import safetensors as _safetensors
from ._hearth import Array, Dim, Function, Graph, Stream, Tensor, Watch, __version__
from ._jit import JitFunction, JitStats, jit
from ._load import load
from ._trace import TracedFunction, Tracer, trace
from ._tensor import evaluate, parameter, tensor
from ._types import Outputs, Stats, Value, Variable, WeightsReport

__all__ = [
    "Aborted",
    "AlreadyExists",
    "Array",
    "CallError",
    "CompileWarning",
    "Cancelled",
    "DType",
    "DataLoss",
    "DeadlineExceeded",
    "Dim",
    "Error",
    "FailedPrecondition",
    "Function",
    "Future",
    "Graph",
    "Internal",
    "InvalidArgument",
    "JitFunction",
    "JitStats",
    "LazyFunction",
    "ModelInfo",
    "NotFound",
    "OutOfRange",
    "Outputs",
    "PermissionDenied",
    "Pool",
    "Profile",
    "Range",
    "ResourceExhausted",
    "Stats",
    "Stream",
    "Tensor",
    "TraceError",
    "TraceWarning",
    "TracedFunction",
    "Tracer",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Value",
    "Variable",
    "Watch",
    "WeightsReport",
    "__version__",
    "daemon",
    "evaluate",
    "inspect",
    "jit",
    "load",
    "ops",
    "parameter",
    "prewarm",
    "safetensors",
    "show_config",
    "tensor",
    "trace",
    *_array_api_names,
    *_array_api_later,
]


def _methods():
    """Methods of functions that are written in Python, whose modules are loaded when they are called."""

    def submit(self, *args, **kwargs):
        """Calls it on another thread; gives a Future, to be awaited or asked for its result()."""
        from ._pool import submit

        return submit(self, *args, **kwargs)

    def explain(self):
        """What the function is, in text: what it takes and gives, its kernels, work and memory."""
        from ._show import explain

        return explain(self)

    def html(self):
        from ._show import html

        return html(self)

    plain = Function.stream

    def stream(self, carry=None):
        """A Stream, whose state stays in it: carry={"stateN": "state"}, outputs by the inputs that they become,
        {"present.*": "past_key_values.*"} for many. A plan that was prepared with carry= needs none."""
        if not carry:
            return plain(self)
        from ._carry import expand

        return plain(self, expand(carry, [one.name for one in self.outputs], [one.name for one in self.inputs]))

    Function.submit, Function.explain, Function._repr_html_, Function.stream = submit, explain, html, stream
    Stream.submit = submit
    JitFunction.submit = submit


_methods()


# Loaded when they are asked for.
_LATER = {
    "LazyFunction": "_lazy", "ModelInfo": "_inspect", "daemon": "daemon", "inspect": "_inspect", "linalg": "linalg",
    "outer": "linalg", "prewarm": "_prewarm", "show_config": "_config", "tensordot": "linalg", "vecdot": "linalg",
}  # fmt: skip


def __getattr__(name):
    if name in ("Pool", "Future"):
        from . import _pool

        return getattr(_pool, name)
    if name in _LATER:
        import importlib

        module = importlib.import_module("." + _LATER[name], __name__)
        return module if name == _LATER[name] else getattr(module, name)
    if name == "Profile":
        from ._show import Profile

        return Profile
    if not name.startswith("_"):
        from . import _words

        found = _words.function(name)
        if found is not None:
            return found
        raise AttributeError(_words.missing_function(name))
    raise AttributeError(f"module 'hearth' has no attribute {name!r}")


def safetensors(path):
    """The tensors of a safetensors file by name, as parameters: mapped, neither read nor copied. The file must stay as it
    is while they live."""
    import os

    return _safetensors(os.fsencode(path))[0]


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
