"""Guards of attributes: of objects, classes and modules, by the names that the traced code reads."""

import types

from ._kinds import CALLABLE, CHANGING_MODULES, INSTANCE_DICT, ITEM, MAPPING, MISSING, NOTHING, OF_JIT, OWNER, SAME_AS, TYPE_ATTRIBUTE  # fmt: skip
from ._kinds import has_instance_dict, is_followed, module_of


class Object:
    """An object, class or module whose attributes are guarded, as more names become known."""

    __slots__ = ("value", "node", "dict_node", "done", "is_whole")

    def __init__(self, value, node):
        self.value, self.node, self.dict_node, self.done, self.is_whole = value, node, None, set(), False


class Attributes:
    """What Walk does with objects: it gives `names`, `own`, `is_dynamic`, `nodes`, `guards`, visit() and _add()."""

    def _attributes(self, one):
        value = one.value
        kind = type(value)
        if issubclass(kind, types.ModuleType):
            self._module(one)
            return
        is_class = issubclass(kind, type)
        for base in value.__mro__ if is_class else kind.__mro__:
            if base is not object and is_followed(module_of(base)):
                self._class(one, base, is_class)
        if not is_class:
            self._instance(one, kind)

    def _class(self, one, base, is_class):
        space = vars(base)
        for name in list(space):
            is_function = isinstance(space[name], types.FunctionType)
            is_special = is_function and name.startswith("__") and name.endswith("__")
            if not is_special and name not in self.names or name in one.done and is_class:
                continue
            found = space[name]
            if isinstance(found, types.MemberDescriptorType):
                continue  # a slot
            if (id(base), name) not in self.class_done:
                self.class_done.add((id(base), name))
                self.alive.append(base)
                node = self.constant(space, base.__name__)
                self.visit(found, node, MAPPING, name, "." + name)
            if not is_class and not is_special and name not in one.done and has_instance_dict(type(one.value)):
                # A class that comes to override it, or the object itself.
                kind = type(one.value)
                resolved = (id(kind), name, "first")
                if is_function and resolved not in self.class_done and self._first(kind, name) is found:
                    self.class_done.add(resolved)
                    self._add(one.node, TYPE_ATTRIBUTE, name, SAME_AS, self.nodes[id(found)], "." + name)
                if name not in self._dict_of(one.value):
                    one.done.add(name)
                    self._add(self._dict_node(one), ITEM, name, MISSING, None, "." + name)

    @staticmethod
    def _first(kind, name):
        for base in kind.__mro__:
            if name in vars(base):
                return vars(base)[name]
        return None

    @staticmethod
    def _dict_of(value):
        try:
            return object.__getattribute__(value, "__dict__")
        except AttributeError:
            return {}

    def _dict_node(self, one):
        if one.dict_node is None:
            one.dict_node = self._add(one.node, INSTANCE_DICT, None, NOTHING, None, "")
        return one.dict_node

    def _instance(self, one, kind):
        held = self._dict_of(one.value) if has_instance_dict(kind) else {}
        is_whole = self.is_dynamic or hasattr(kind, "__getattr__") or isinstance(kind.__getattribute__, types.FunctionType)
        is_whole = is_whole or f"{module_of(kind)}.{kind.__name__}" == "os._Environ"
        is_of_jit = module_of(kind) == "hearth._jit"
        if kind is types.FunctionType or is_of_jit or not isinstance(held, dict):
            is_whole = False
        if is_whole and not one.is_whole and has_instance_dict(kind):
            one.is_whole = True
            self.visit(held, one.node, INSTANCE_DICT, None, "")
        elif not one.is_whole:
            wanted = OF_JIT if is_of_jit else self.names
            if kind is types.FunctionType or f"{module_of(kind)}.{kind.__name__}" == "functools._lru_cache_wrapper":
                wanted = wanted | {"__wrapped__"}
            for name in [name for name in held if name in wanted and name not in one.done]:
                one.done.add(name)
                self.visit(held[name], self._dict_node(one), ITEM, name, "." + name)
            if one.node == 0 and self.guards.row(0)[1] == OWNER:
                for name in sorted(self.own - one.done):
                    if self._first(kind, name) is None and has_instance_dict(kind):
                        one.done.add(name)
                        self._add(self._dict_node(one), ITEM, name, MISSING, None, "." + name)
        for base in kind.__mro__:
            for name, found in list(vars(base).items()):
                is_slot = isinstance(found, types.MemberDescriptorType) and base is not types.FunctionType
                if not is_slot or name in one.done or not (name in self.names or is_whole) or not _is_slotted(base):
                    continue
                one.done.add(name)
                self._parts((one.value, (name,)), one.node)

    def _module(self, one):
        followed = is_followed(one.value.__name__)
        if one.value.__name__.partition(".")[0] == "hearth":
            return
        space = vars(one.value)
        for name in [name for name in self.names if name in space and name not in one.done]:
            one.done.add(name)
            found = space[name]
            if followed or _may_change(found):
                self.visit(found, self.constant(space, one.value.__name__), ITEM, name, "." + name)


def _may_change(found):
    """Of what a library's module has: its functions, classes and most of its modules stay as they are."""
    if isinstance(found, types.ModuleType):
        return found.__name__ in CHANGING_MODULES
    return not (issubclass(type(found), CALLABLE) or hasattr(type(found), "__call__"))


def _is_slotted(base):
    return "__slots__" in vars(base)
