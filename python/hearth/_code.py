"""What a function's code reads by name: globals, closure cells, attributes, and whether it looks names up that only a run
knows."""

from weakref import WeakKeyDictionary


class Reads:
    """Of one code object and the code in it."""

    __slots__ = ("globals", "cells", "attributes", "own", "written", "imports", "is_dynamic", "opaque")

    def __init__(self):
        self.globals = set()
        self.cells = set()
        self.attributes = set()
        self.own = set()  # attributes of the first argument, read as `self.name`
        self.written = set()  # what is only changed somewhere: n += 1, log.append(x)
        self.imports = set()
        self.is_dynamic = False  # attributes by names that are computed
        self.opaque = set()  # names that read what no name shows: eval, globals


_BY_NAME = {"getattr", "hasattr", "delattr", "attrgetter"}
_ALL = {"__dict__", "vars", "dir"}
_OPAQUE = {"eval", "exec", "globals", "locals"}
_CHANGING = {"append", "extend", "insert", "appendleft", "extendleft", "add", "update", "clear"}  # they give None
_known = WeakKeyDictionary()


def reads_of(code):
    known = _known.get(code)
    if known is None:
        known = _known[code] = Reads()
        _read(code, code.co_varnames[0] if code.co_argcount else None, known)
    return known


def _read(code, own, made):
    import dis

    before = None
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        name, value = step.opname, step.argval
        into = None
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            into = made.globals
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            into = made.cells
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            into = made.attributes
            if before is not None and before.argval == own and before.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
                made.own.add(value)
        elif name == "IMPORT_NAME":
            made.imports.add(value)
        elif name == "IMPORT_FROM":
            made.attributes.add(value)
        if into is not None:
            if _is_only_changed(steps, i):
                made.written.add(value)
            else:
                into.add(value)
            if value in _BY_NAME:
                _read_by_name(steps, i, made)
        before = step
    made.is_dynamic = made.is_dynamic or not _ALL.isdisjoint(made.globals | made.attributes)
    made.opaque |= made.globals & _OPAQUE
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            _read(constant, own if own in constant.co_freevars else None, made)


def _is_only_changed(steps, i):
    """Whether what is loaded there goes nowhere but into its own new value: n += 1, n[k] += 1, n.append(x)."""
    following = [step for step in steps[i + 1 : i + 12] if step.opname not in ("CACHE", "PUSH_NULL")]
    names = [step.opname for step in following]
    if not names:
        return False
    if names[0] in ("LOAD_METHOD", "LOAD_ATTR") and following[0].argval in _CHANGING:
        return True
    loaded, store = steps[i], steps[i].opname.replace("LOAD_", "STORE_")
    if names[1:3] == ["BINARY_OP", store] and names[0] == "LOAD_CONST":  # n += 1
        return following[2].argval == loaded.argval
    if names[1:4] == ["BINARY_OP", "SWAP", store] and names[0] == "LOAD_CONST":  # self.n += 1
        return following[3].argval == loaded.argval
    expected = ["COPY", "COPY", "BINARY_SUBSCR", "LOAD_CONST", "BINARY_OP", "SWAP", "SWAP", "STORE_SUBSCR"]
    return names[0].startswith("LOAD_") and names[1:9] == expected  # n[k] += 1


def _read_by_name(steps, i, made):
    """getattr(object, "name"): the name, where it stands there as a text."""
    following = [step for step in steps[i + 1 : i + 24] if step.opname not in ("CACHE", "PUSH_NULL")]
    for at, step in enumerate(following):
        if step.opname == "LOAD_CONST" and isinstance(step.argval, str):
            after = [one.opname for one in following[at + 1 : at + 3]]
            if after and after[0].startswith("LOAD_"):  # a default
                after.pop(0)
            if after and after[0] in ("PRECALL", "CALL"):
                made.attributes.update(step.argval.split("."))
                return
            break
        if step.opname.startswith("CALL"):
            break
    made.is_dynamic = True
