"""How guards fetch values and compare them, and what is taken to stay as it is."""

import sys
import types

# As python/src/guards.h numbers them.
CONSTANT, OWNER, ARGUMENT, REFERENT, ITEM, ELEMENT, ATTRIBUTE, INSTANCE_DICT, TYPE_ATTRIBUTE, MAPPING = range(10)
(NOTHING, SAME, PLAIN, SAME_WEAK, SCALAR, MISSING, SIZE, SEQUENCE, KEYS, ITEMS, FUNCTION, ARRAY, TENSOR, TORCH, SAME_AS,
 TYPE) = range(16)  # fmt: skip

PLAIN_TYPES = frozenset((bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range))
MAX_ARRAY_BYTES = 16 << 10  # of one captured array whose elements are compared at each call: about 0.3 microseconds
MAX_ELEMENT_BYTES = 128 << 10  # of all of them
MANY = 100_000  # values, from which on a call spends more than about 0.5 ms on comparing them
LARGE = (
    f"its elements are not compared, as those of arrays of up to {MAX_ARRAY_BYTES >> 10} KiB are, so that a change in place"
    " would go unseen. Pass it as an argument, make it a hearth.tensor, whose t[i] = v is noticed, or read-only"
    " (w.flags.writeable = False)"
)

# Libraries whose functions and modules are taken to stay as they are.
LIBRARIES = frozenset(
    "hearth numpy torch scipy ml_dtypes onnx onnxruntime jax tensorflow pandas cupy sklearn array_api_compat".split()
)
CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, types.MethodType)
STATEFUL = ("numpy.random.", "random.Random", "_random.Random")
CHANGING_MODULES = ("random", "numpy.random", "time", "secrets", "uuid")
OF_JIT = {"_function", "_self", "__self__"}  # what of a JitFunction and BoundJit is looked at


def is_followed(module):
    top = module.partition(".")[0] if isinstance(module, str) else ""
    return top not in LIBRARIES and top not in sys.stdlib_module_names and top != "builtins"


def module_of(kind):
    module = type.__getattribute__(kind, "__module__")
    return module if isinstance(module, str) else ""


def has_instance_dict(kind):
    return kind.__dictoffset__ != 0
