"""What a traced function sees that is no argument: closure cells, defaults, globals and attributes of self."""

from ._trees import PLAIN

MISSING = object()


def _same(now, then):
    if now is then:
        return True
    kind = type(then)
    if type(now) is not kind:
        return False
    if kind is float:
        return now.hex() == then.hex()
    return kind in PLAIN and now == then or kind is tuple and len(now) == len(then) and all(map(_same, now, then))


class Captured:
    """Closure cells, defaults, globals and attributes of self that a function's code names, as they were."""

    def __init__(self, function, owner):
        code = function.__code__
        self.function = function
        self.cells = [(cell, _contents(cell)) for cell in function.__closure__ or ()]
        self.defaults, self.kwdefaults = function.__defaults__, dict(function.__kwdefaults__ or {})
        names, attributes = _names(code, code.co_varnames[0] if owner is not None and code.co_argcount else None)
        space = function.__globals__
        self.space = space
        self.globals = [(name, space[name]) for name in sorted(names) if name in space]
        self.owner = _weakly(owner)
        self.attributes = [(name, getattr(owner, name, MISSING)) for name in sorted(attributes)]

    def holds(self):
        space = self.space
        for name, then in self.globals:
            now = space.get(name, MISSING)
            if now is not then and not _same(now, then):
                return False
        for cell, then in self.cells:
            now = _contents(cell)
            if now is not then and not _same(now, then):
                return False
        function = self.function
        if function.__defaults__ is not self.defaults and not _same(function.__defaults__, self.defaults):
            return False
        if self.kwdefaults and not all(_same((function.__kwdefaults__ or {}).get(name, MISSING), then)
                                       for name, then in self.kwdefaults.items()):
            return False
        return not self.attributes or self._holds_attributes()

    def rows(self):
        """(container, name, value): what must be the same object."""
        function = self.function
        made = [(self.space, name, then) for name, then in self.globals]
        made += [(cell, "cell_contents", then) for cell, then in self.cells]
        made.append((function, "__defaults__", self.defaults))
        made.append((function, "__kwdefaults__", function.__kwdefaults__))
        if self.kwdefaults:
            made += [(function.__kwdefaults__, name, then) for name, then in self.kwdefaults.items()]
        owner = self.owner()
        return made + [(owner, name, then) for name, then in self.attributes]

    def _holds_attributes(self):
        owner = self.owner()
        return all(_same(getattr(owner, name, MISSING), then) for name, then in self.attributes)


def _weakly(owner):
    """A plan keeps no object alive."""
    import weakref

    try:
        return weakref.ref(owner)
    except TypeError:
        return lambda: owner


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return MISSING


def _names(code, self_name):
    """The names that code and the code in it may look up globally, and the attributes of self that it reads."""
    import dis

    names, attributes = set(code.co_names), set()
    before = None
    for step in dis.get_instructions(code):
        reads = step.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if reads and before is not None and before.opname in ("LOAD_FAST", "LOAD_DEREF") and before.argval == self_name:
            attributes.add(step.argval)
        before = step
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            inner, read = _names(constant, self_name if self_name in constant.co_freevars else None)
            names |= inner
            attributes |= read
    return names, attributes
