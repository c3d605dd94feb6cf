"""What a jitted function says, once, of traces that it makes again and again."""

import os
import sys
import warnings

from ._errors import TraceWarning
from ._trees import PLAIN, Leaf, array_key, ends

TRACES_TO_SAY = 8  # at which a function that is traced again and again says why


def warn(text, category=TraceWarning):
    """At the line outside of this package that called."""
    folder, level, frame = os.path.dirname(__file__) + os.sep, 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(folder):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def described(names, args_tree, kwargs_tree, leaves):
    """[(name, its kind, its text)] of every argument, for messages."""
    made = []
    for name, one in ends(names, args_tree, kwargs_tree):
        if isinstance(one, Leaf):
            dtype, shape = array_key(leaves[one.place])
            made.append((name, "array", f"{dtype} {list(shape)}"))
        elif type(one) in PLAIN or type(one) is float:
            text = repr(one)
            made.append((name, "number" if type(one) in (int, float) else "value", text if len(text) <= 60 else text[:57] + "..."))
        else:
            made.append((name, "value", type(one).__name__))
    return made


def difference(then, now):
    """(what differs, what to do about it)."""
    for old, new in zip(then, now):
        if old != new:
            name, kind, text = new
            if kind == "array" and text.partition(" ")[2] == old[2].partition(" ")[2]:
                remedy = f"convert {name} to one dtype"
            elif kind == "array" and old[1] == "array":
                argument = name.replace(".", "_")
                remedy = f"let lengths vary: hearth.jit(..., dims={{{argument!r}: {{0: hearth.Dim(\"n\", 1, 64)}}}})"
                if argument != name:
                    remedy = f"pass {name} as an argument of its own, {argument}, and {remedy}"
            elif kind == "number":
                remedy = f"pass {name} as an array without axes (numpy.array({text}, \"float32\")), or use hearth.jit(..., dynamic_scalars=True)"
            else:
                remedy = f"call it with one {name}"
            return f"{name} is {text}, and was {old[2]}", remedy
    if len(then) != len(now):
        return f"it is called with {len(now)} arguments, and was with {len(then)}", "call it with one number of them"
    return "an argument is of another kind", "call it with one kind of arguments"
