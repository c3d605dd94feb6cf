"""Finds what a function's code can read by name, and says how each value is fetched and compared: the nodes of
_hearth.Guards. Nothing of the user's runs meanwhile: attributes are looked up where they lie, in dicts and slots."""

import functools
import sys
import types
import weakref
from collections import OrderedDict, deque

from ._attributes import Attributes, Object
from ._code import reads_of
from ._hearth import Tensor
from ._kinds import *


class Walk(Attributes):
    def __init__(self, seen, owner, arguments):
        self.seen, self.guards = seen, seen.guards
        self.nodes, self.alive, self.constants = {}, [], {}
        self.names, self.own, self.is_dynamic = set(), set(), False
        self.todo, self.objects, self.class_done, self.global_done = [], [], set(), set()
        self.element_bytes = self.values = 0
        if owner is not None:
            node = self._add(0, OWNER, None, NOTHING, None, "=self")
            self.nodes[id(owner)] = node
            self.alive.append(owner)
            self._expand(owner, node)
        for i, (value, label) in enumerate(arguments):
            self.visit(value, 0, ARGUMENT, i, "=" + label)

    def root(self, function):
        if id(function) in self.nodes:
            return
        label = getattr(function, "__name__", type(function).__name__)
        self.visit(function, 0, CONSTANT, function, "=" + label)
        if isinstance(function, types.FunctionType):
            self._follow(function, self.nodes[id(function)])  # also one of a library that is not followed
            self.own |= reads_of(function.__code__).own
        self.run()

    def constant(self, value, label):
        """The node of what stays where it is: a module's globals, a class's namespace."""
        known = self.constants.get(id(value))
        if known is None:
            known = self.constants[id(value)] = self._add(0, CONSTANT, value, NOTHING, None, "=" + label)
            self.alive.append(value)
        return known

    def owner_of(self, owner):
        """The object whose method became part of the trace."""
        if id(owner) not in self.nodes:
            self.alive.append(owner)
            node = self.nodes[id(owner)] = self._add(0, REFERENT, weakref.ref(owner), NOTHING, None, "=self")
            self._expand(owner, node)

    def run(self):
        """Until nothing that is named is left: each function adds names, each name may lead to another function."""
        names = -1
        while self.todo or names != (len(self.names), len(self.objects), self.is_dynamic):
            names = (len(self.names), len(self.objects), self.is_dynamic)
            while self.todo:
                step, value, node = self.todo.pop()
                step(value, node)
            for one in self.objects:
                self._attributes(one)

    def unseen(self, node, why):
        self.seen.unseen.append((self.seen.path(node), why))

    def _add(self, parent, fetch, key, check, expected, label):
        node = self.guards.add(parent, fetch, key, check, expected)
        if label is not None:
            self.seen.label(node, label)
        before = self.values
        self.values += len(expected[1]) if check in (SEQUENCE, KEYS, ITEMS) else 1
        if before < MANY <= self.values:
            self.unseen(node, f"each call compares more than {MANY:,} values of what the function reads, which takes it"
                        " longer; pass what is large as an argument")
        return node

    def _expand(self, value, node):
        self.objects.append(Object(value, node))

    # One value: its node, and what of it is to be walked later.
    def visit(self, value, parent, fetch, key, label=None):
        kind = type(value)
        if kind in PLAIN_TYPES:
            self._add(parent, fetch, key, PLAIN, value, label)
            return
        known = self.nodes.get(id(value))
        if known is not None:
            self._add(parent, fetch, key, SAME_AS, known, label)
            return
        self.alive.append(value)
        add = functools.partial(self._node, value, parent, fetch, key, label)
        if issubclass(kind, (list, tuple)):
            self._sequence(value, kind, add)
        elif issubclass(kind, dict):
            self._dict(value, kind, add)
        elif issubclass(kind, (set, frozenset)):
            base = set if issubclass(kind, set) else frozenset
            items = tuple(base.__iter__(value))
            node = add(ITEMS, (kind, items))
            if not PLAIN_TYPES.issuperset(map(type, items)):
                self.unseen(node, "a set's elements are compared by identity, and what they hold is not; use a tuple")
        elif kind is deque:
            node = add(SIZE, (kind, len(value)))
            self.todo.append((self._elements, list(value), node))
        elif kind is types.FunctionType:
            node = add(FUNCTION, (value.__code__, value.__globals__))
            if is_followed(value.__globals__.get("__name__", "")):
                self.todo.append((self._follow, value, node))
        elif kind is types.MethodType:
            node = add(TYPE, kind)
            self.todo.append((self._parts, (value, ("__func__", "__self__")), node))
        elif kind is functools.partial:
            node = add(TYPE, kind)
            self.todo.append((self._parts, (value, ("func", "args", "keywords")), node))
        elif kind is types.BuiltinFunctionType:
            self._builtin(value, add)
        elif kind is types.CellType:
            self.todo.append((self._parts, (value, ("cell_contents",)), add(NOTHING, None)))
        elif issubclass(kind, (staticmethod, classmethod)):
            self.todo.append((self._parts, (value, ("__func__",)), add(SAME, value)))
        elif kind is functools.cached_property:
            self.todo.append((self._parts, (value, ("func",)), add(SAME, value)))
        elif kind is property:
            self.todo.append((self._parts, (value, ("fget",)), add(SAME, value)))
        elif issubclass(kind, Tensor):
            add(TENSOR, value)
        elif not self._array(value, kind, parent, fetch, key, label, add):
            self._other(value, kind, add)

    def _node(self, value, parent, fetch, key, label, check, expected):
        node = self.nodes[id(value)] = self._add(parent, fetch, key, check, expected, label)
        return node

    def _sequence(self, value, kind, add):
        base = list if issubclass(kind, list) else tuple
        items = tuple(base.__iter__(value))
        if PLAIN_TYPES.issuperset(map(type, items)):
            node = add(SEQUENCE, (kind, items))
        else:
            node = add(SIZE, (kind, len(items)))
            self.todo.append((self._elements, items, node))
        if kind is not base:
            self._expand(value, node)

    def _elements(self, items, node):
        for i, one in enumerate(items):
            self.visit(one, node, ELEMENT, i)

    def _dict(self, value, kind, add):
        pairs = list(dict.items(value))
        keys = tuple(key for key, _ in pairs)
        if kind is OrderedDict:
            keys = tuple(value)
            pairs = [(key, dict.__getitem__(value, key)) for key in keys]
        is_ordered = kind is OrderedDict
        if not all(type(key) in PLAIN_TYPES for key in keys):
            node = add(KEYS, (kind, keys, is_ordered))
            for i, one in enumerate(dict.values(value)):  # a look-up would run the keys' own code
                self.todo.append((self._at, (one, i), node))
        elif PLAIN_TYPES.issuperset(type(one) for _, one in pairs):
            node = add(ITEMS, (kind, keys, tuple(one for _, one in pairs), is_ordered))
        else:
            node = add(KEYS, (kind, keys, is_ordered))
            self.todo.append((self._items, pairs, node))
        if kind not in (dict, OrderedDict):
            self._expand(value, node)

    def _at(self, place, node):
        self.visit(place[0], node, ELEMENT, place[1])

    def _items(self, pairs, node):
        for key, one in pairs:
            self.visit(one, node, ITEM, key)

    def _parts(self, what, node):
        value, names = what
        for name in names:
            try:
                one = object.__getattribute__(value, name)
            except (AttributeError, ValueError):  # a cell that is not set
                self._add(node, ATTRIBUTE, name, MISSING, None, "." + name)
                continue
            self.visit(one, node, ATTRIBUTE, name, "" if name in ("__func__", "func", "fget", "__wrapped__") else "." + name)

    def _builtin(self, value, add):
        """A function of a module, or a method of an object."""
        owner = value.__self__
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            add(SAME, value)
            return
        self.todo.append((self._parts, (value, ("__self__", "__name__")), add(TYPE, type(value))))

    def _array(self, value, kind, parent, fetch, key, label, add):
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        generic, ndarray = getattr(numpy, "generic", None), getattr(numpy, "ndarray", None)
        if generic is not None and issubclass(kind, generic):
            add(SCALAR, (kind, value.tobytes()))
            return True
        tensor = getattr(torch, "Tensor", None)
        if tensor is not None and issubclass(kind, tensor):
            self._torch(value, add)
            return True
        is_array = ndarray is not None and issubclass(kind, ndarray)
        if not is_array and kind not in (bytearray, memoryview) and not hasattr(kind, "__dlpack__"):
            return False
        limit = min(MAX_ARRAY_BYTES, MAX_ELEMENT_BYTES - self.element_bytes)
        node = len(self.guards)
        is_compared = self.guards.add_array(parent, fetch, key, value, limit)
        self.nodes[id(value)] = node
        if label is not None:
            self.seen.label(node, label)
        size = len(value) if kind is bytearray else getattr(value, "nbytes", limit + 1)
        if is_compared:
            self.element_bytes += size if isinstance(size, int) and size <= limit else 0
        else:
            self.unseen(node, LARGE)
        return True

    def _torch(self, value, add):
        try:
            version = value._version
        except RuntimeError:  # of inference mode
            version = None
        elements = None
        limit = min(MAX_ARRAY_BYTES, MAX_ELEMENT_BYTES - self.element_bytes)
        size = value.nbytes
        if value.device.type == "cpu" and value.is_contiguous() and size <= limit:
            import ctypes

            elements = ctypes.string_at(value.data_ptr(), size) if size else b""
            self.element_bytes += size
        node = add(TORCH, (weakref.ref(value), version, value.data_ptr(), elements))
        if version is None and elements is None:
            self.unseen(node, LARGE)

    def _other(self, value, kind, add):
        module = module_of(kind)
        name = f"{module}.{kind.__qualname__}"
        if issubclass(kind, types.ModuleType):
            node = add(SAME, value)
            self._expand(value, node)
            if value.__name__ in CHANGING_MODULES:
                self.unseen(node, f"the module {value.__name__} gives another value at each call, and what it gave when it was"
                            " traced stays; pass it as an argument")  # fmt: skip
            return
        if issubclass(kind, type):
            node = add(SAME, value)
            if is_followed(module_of(value)):
                self._expand(value, node)
            return
        try:
            weak = weakref.ref(value)
        except TypeError:
            weak = None
        has_attributes = has_instance_dict(kind) or any("__slots__" in vars(one) for one in kind.__mro__)
        if name == "hearth._jit.BoundJit":  # another one at each access
            self._expand(value, add(TYPE, kind))
            return
        node = add(SAME_WEAK, weak) if weak is not None else add(TYPE, kind) if has_attributes else add(SAME, value)
        if name.startswith(STATEFUL) or (hasattr(kind, "__next__") and module != "_io"):
            self.unseen(node, f"a {kind.__name__} is not compared, and what it gave when it was traced"
                        " stays; pass what it gives as an argument")
            return
        if not name.startswith("hearth._hearth."):
            self._expand(value, node)

    # Functions.
    def _follow(self, function, node):
        if (id(function), "followed") in self.class_done:
            return
        self.class_done.add((id(function), "followed"))
        code, reads = function.__code__, reads_of(function.__code__)
        self.names |= reads.attributes
        self.is_dynamic = self.is_dynamic or reads.is_dynamic
        for name in sorted(reads.opaque):
            self.unseen(node, f"it calls {name}(), and what that reads is not compared; name it in the code")
        self._globals(function.__globals__, reads)
        self._defaults(function, node)
        closure = function.__closure__
        if closure:
            cells = self._add(node, ATTRIBUTE, "__closure__", SIZE, (tuple, len(closure)), "")
            for i, (cell, name) in enumerate(zip(closure, code.co_freevars)):
                if name in reads.written and name not in reads.cells:
                    continue
                at = self._add(cells, ELEMENT, i, NOTHING, None, "")
                try:
                    self.visit(cell.cell_contents, at, ATTRIBUTE, "cell_contents", "=" + name)
                except ValueError:
                    self._add(at, ATTRIBUTE, "cell_contents", MISSING, None, "=" + name)
        if function.__dict__:
            self._expand(function, node)

    def _defaults(self, function, node):
        self.visit(function.__defaults__, node, ATTRIBUTE, "__defaults__", ".__defaults__")
        if function.__code__.co_kwonlyargcount:
            self.visit(function.__kwdefaults__, node, ATTRIBUTE, "__kwdefaults__", ".__kwdefaults__")

    def _globals(self, space, reads):
        node = self.constant(space, "")
        for name in sorted(reads.globals):
            if (id(space), name) in self.global_done:
                continue
            self.global_done.add((id(space), name))
            if name in space:
                self.visit(space[name], node, ITEM, name, "=" + name)
            else:  # a builtin, which a global may come to hide
                self._add(node, ITEM, name, MISSING, None, "=" + name)
        if reads.imports:
            modules = self.constant(sys.modules, "")
            for name in sorted(reads.imports):
                if name in sys.modules and (0, name) not in self.global_done:
                    self.global_done.add((0, name))
                    self.visit(sys.modules[name], modules, ITEM, name, "=" + name)
