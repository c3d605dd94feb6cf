"""Plain records that functions describe themselves with."""

from collections import namedtuple
from operator import itemgetter

Value = namedtuple("Value", "name dtype shape")
Value.__doc__ = """An input or output: name, dtype ("float32"), shape (a length is an int, or text: "batch", "past + 1")."""

Variable = namedtuple("Variable", "name min max unit")
Variable.__doc__ = "A dimension that varies from call to call: min <= value <= max, a multiple of unit."

Stats = namedtuple(
    "Stats",
    "prepare_ms rpc_ms kernels compiled_kernels cache_hits plan_hit joined shared_weight_bytes shared_bytes"
    " passed_over device_notes",
)
Stats.__doc__ = """What preparing took (milliseconds), what was compiled for it, and what all instances share (bytes)."""

WeightsReport = namedtuple("WeightsReport", "tensors f32_bytes stored_bytes worst worst_error kept")
WeightsReport.__doc__ = """Weights that are stored narrow. worst_error: in parts of the largest |weight| of `worst`."""


class Outputs(tuple):
    """Several results: a tuple whose elements are also attributes and items by the model's names."""

    __slots__ = ()
    _fields = ()

    def __getitem__(self, key):
        if isinstance(key, str):
            try:
                key = self._fields.index(key)
            except ValueError:
                raise KeyError(f"no output {key!r}; there are {', '.join(self._fields)}") from None
        return tuple.__getitem__(self, key)

    def __repr__(self):
        return f"Outputs({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self))})"

    def __reduce__(self):
        return _outputs, (self._fields, tuple(self))

    def _asdict(self):
        return dict(zip(self._fields, self))


def outputs_type(names):
    """The subclass of Outputs for results of these names."""
    members = {"__slots__": (), "_fields": tuple(names)}
    for place, name in enumerate(names):
        if not hasattr(Outputs, name):  # count, index: by item only
            members[name] = property(itemgetter(place))
    return type("Outputs", (Outputs,), members)


def _outputs(names, values):
    return outputs_type(names)(values)


_op_results = {}


def op_result(name, fields, values):
    """A named tuple of an op's results."""
    made = _op_results.get(name)
    if made is None:
        made = _op_results[name] = namedtuple(name, fields)
    return made(*values)
