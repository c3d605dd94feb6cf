"""What a traced function read that is no array among its arguments, and whether it is still so.

The one rule: whatever the function's code can read by name is compared at the next call: globals, closure cells,
defaults, attributes, what lists, dicts and objects hold, and the same of the functions that it calls. What differs traces
anew. What cannot be compared is said once, in a TraceWarning. _walk.py finds it, _hearth.Guards looks at it.
"""

from . import _hearth
from ._kinds import ARRAY, ELEMENT, FUNCTION, ITEMS, KEYS, MISSING, PLAIN, PLAIN_TYPES, REFERENT, SEQUENCE, SIZE, TENSOR, TORCH
from ._walk import Walk


class Seen:
    """Guards of one trace: of a function, of the object whose method it is, and of its arguments that are no arrays."""

    def __init__(self, function, owner=None, arguments=()):
        self.guards = _hearth.Guards()
        self.unseen = []  # what is not compared, in words
        self._labels = {}
        self._walk = Walk(self, owner, arguments)
        self._walk.root(function)

    def add(self, function, owner=None):
        """A function that became part of the trace."""
        self._walk.root(function)
        if owner is not None:
            self._walk.owner_of(owner)
        self._walk.run()

    def close(self):
        """The trace is over: what was looked at is no longer kept alive."""
        self._walk = None

    def label(self, node, text):
        self._labels[node] = text

    def path(self, node):
        """Where the node's value is read, as code says it: "cfg['rates'][2]"."""
        pieces = []
        while True:
            parent, fetch, key, _, _ = self.guards.row(node)
            label = self._labels.get(node)
            if label is None:
                label = f"[{key!r}]" if fetch == ELEMENT or type(key) in PLAIN_TYPES else "[...]"
            if label.startswith("="):
                pieces.append(label[1:])
                break
            pieces.append(label)
            if fetch <= REFERENT or parent >= node:
                break
            node = parent
        return "".join(reversed(pieces)).lstrip(".")

    def why(self, node, owner, arguments):
        """What differs there, in words."""
        _, _, _, check, then = self.guards.row(node)
        now = self.guards.value_now(node, owner, arguments)
        where = self.path(node)
        if check == PLAIN and type(now) in PLAIN_TYPES:
            return f"{where} is {_short(now)}, and was {_short(then)}"
        if check == MISSING:
            return f"{where} is there, and was not"
        if check == SIZE and hasattr(type(now), "__len__") and type(now) is then:
            return f"{where} has another length"
        if check == ARRAY or check == TENSOR or check == TORCH:
            return f"{where} is another array, or has other elements"
        if check in (SEQUENCE, ITEMS, KEYS):
            return f"{where} holds other values"
        if check == FUNCTION:
            return f"{where} is another function"
        return f"{where} is another {type(now).__name__}"


def _short(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
