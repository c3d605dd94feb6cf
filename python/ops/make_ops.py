#!/usr/bin/env python3
"""The ops of hearth/ops.h as Python has them, from clang's view of the headers.

    make_ops.py table                    ops.json anew, from the headers (clang 19)
    make_ops.py bindings OUT.cpp         the C++ that calls them, from ops.json; the build does it
    make_ops.py stubs OUT.pyi            their types for checkers
    make_ops.py page OUT.md              the page of the documentation
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TABLE = HERE / "ops.json"
# Of hearth/tensor.h, beside all of hearth/ops/.
LEAVES = {"full", "iota", "dim_value", "arange"}
# Bodies that are called back, or results that are no tensors: by hand in src/ (op_call.cpp).
BY_HAND = {"loop", "cubic_weight"}


# ---- From clang -----------------------------------------------------------------------------------------------------
def dump():
    command = ["clang++-19", "-std=c++20", "-fsyntax-only", "-fparse-all-comments", "-Wno-pragma-once-outside-header",
               f"-I{ROOT / 'include'}", "-x", "c++", str(ROOT / "include/hearth/ops.h"), "-Xclang", "-ast-dump=json",
               "-Xclang", "-ast-dump-filter=hearth::client"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        node, at = decoder.raw_decode(text, at)
        yield node
        while at < len(text) and text[at].isspace():
            at += 1


def comment(node):
    lines = []

    def walk(part):
        if part["kind"] == "TextComment":
            lines.append(part["text"].strip())
        for inner in part.get("inner", []):
            walk(inner)
    for inner in node.get("inner", []):
        if inner["kind"] == "FullComment":
            walk(inner)
    return " ".join(line for line in lines if line)


class Header:
    """One header's text, for default values as they are written."""

    def __init__(self, path):
        self.name = pathlib.Path(path).name
        self.text = pathlib.Path(path).read_bytes()

    def default(self, node, is_set):
        values = [inner for inner in node.get("inner", []) if inner["kind"] != "FullComment"]
        if not is_set or not values:
            return None
        span = values[-1]["range"]
        begin, end = (where.get("expansionLoc", where) for where in (span["begin"], span["end"]))
        return self.text[begin["offset"]:end["offset"] + end["tokLen"]].decode().lstrip("= ")


def type_of(node):
    return node["type"]["qualType"]


def read_table():
    table = {"enums": {}, "structs": {}, "functions": []}
    header = None
    for namespace in dump():
        file = namespace["loc"].get("file")
        if file:
            header = Header(file)
        folder = pathlib.Path(file or "").parent.name
        for node in namespace.get("inner", []):
            if node["kind"] == "EnumDecl" and node.get("name"):
                table["enums"][node["name"]] = [{"name": value["name"], "doc": comment(value)}
                                                for value in node["inner"] if value["kind"] == "EnumConstantDecl"]
            elif node["kind"] == "CXXRecordDecl" and node.get("completeDefinition"):
                fields = [{"name": field["name"], "type": type_of(field), "doc": comment(field),
                           "default": header.default(field, field.get("hasInClassInitializer"))}
                          for field in node.get("inner", []) if field["kind"] == "FieldDecl"]
                table["structs"][node["name"]] = {"doc": comment(node), "fields": fields}
            elif node["kind"] == "FunctionDecl" and (folder == "ops" or node["name"] in LEAVES):
                parameters = [{"name": inner["name"], "type": type_of(inner), "default": header.default(inner, inner.get("init"))}
                              for inner in node.get("inner", []) if inner["kind"] == "ParmVarDecl"]
                table["functions"].append({"name": node["name"], "header": header.name, "doc": comment(node),
                                           "returns": type_of(node).split(" (")[0],
                                           "parameters": [p for p in parameters if p["type"] != "Loc"]})
    used = json.dumps(table["functions"]) + json.dumps(table["structs"])
    for kind in ("structs", "enums"):
        table[kind] = {name: value for name, value in sorted(table[kind].items()) if re.search(rf"\b{name}\b", used)}
    for name in ("Tensor", "Operand", "Dim", "Array", "ArrayView", "ParameterData", "Variable", "RangeParts"):
        table["structs"].pop(name, None)
    table["functions"].sort(key=lambda function: (function["header"], function["name"]))
    return table


# ---- What the types are in Python -----------------------------------------------------------------------------------
def bare(text):
    return text.removeprefix("const ").removesuffix("&").strip()


# C++ type: (getter of OpCall, Python type)
SIMPLE = {
    "Tensor": ("tensor", "TensorLike"), "Operand": ("operand", "TensorLike"), "std::int64_t": ("integer", "int"),
    "std::uint64_t": ("natural", "int"), "double": ("real", "float"), "bool": ("flag", "bool"),
    "DType": ("dtype", "DTypeLike"), "Dim": ("dim", "int | Dim"), "Shape": ("shape", "ShapeLike"),
    "Axes": ("axes", "int | Sequence[int]"), "std::vector<std::int64_t>": ("integers", "int | Sequence[int]"),
    "std::vector<Tensor>": ("tensors", "Sequence[TensorLike]"), "std::string_view": ("text", "str"),
    "std::vector<std::vector<std::int64_t>>": ("integer_lists", "Sequence[Sequence[int]]"),
    "std::optional<std::int64_t>": ("integer", "int"), "std::optional<double>": ("real", "float"),
    "std::optional<Operand>": ("operand", "TensorLike"), "Activation": ("activation", "Callable[[Tensor], Tensor]"),
}


class Ops:
    def __init__(self, table):
        self.enums, self.structs, self.functions = table["enums"], table["structs"], table["functions"]

    def is_options(self, name):
        """A struct that becomes keyword arguments, not one that is a value (a state of tensors)."""
        return name in self.structs and any(field["default"] is not None for field in self.structs[name]["fields"])

    def arguments(self, function):
        """[(python name, C++ type, default or None, path in C++, keyword only, doc)]"""
        rows, by_keyword = [], False
        for parameter in function["parameters"]:
            name = bare(parameter["type"])
            if self.is_options(name):
                by_keyword = True
                rows += self.fields(name, parameter["name"])
            else:
                rows.append((parameter["name"], name, parameter["default"], parameter["name"], by_keyword, ""))
        names = [row[0] for row in rows]
        if len(set(names)) != len(names):
            sys.exit(f"{function['name']}: two arguments of one name: {names}")
        return rows

    def fields(self, struct, path):
        rows = []
        for field in self.structs[struct]["fields"]:
            inner = f"{path}.{field['name']}"
            if self.is_options(bare(field["type"])):
                rows += self.fields(bare(field["type"]), inner)
            else:
                rows.append((field["name"], bare(field["type"]), field["default"], inner, True, field["doc"]))
        return rows

    def snake(self, constant):
        return re.sub(r"(?<!^)(?=[A-Z])", "_", constant.removeprefix("k")).lower()

    def python_type(self, cpp):
        if cpp in self.enums:
            return "Literal[" + ", ".join(f'"{self.snake(value["name"])}"' for value in self.enums[cpp]) + "]"
        if cpp in SIMPLE:
            return SIMPLE[cpp][1]
        if cpp.startswith("std::vector<") and cpp[12:-1] in self.structs:
            return "Sequence[Mapping[str, int | float] | Sequence[int | float]]"
        if cpp in self.structs:
            return "Sequence[TensorLike]"
        sys.exit(f"no Python type for {cpp}")

    def python_default(self, cpp, default):
        if default in ("{}", "std::nullopt"):
            return "None"
        if cpp in self.enums:
            return f'"{self.snake(default.split("::")[-1])}"'
        if default.startswith("DType::k"):
            return f'"{DTYPES[default[8:]]}"'
        return {"true": "True", "false": "False"}.get(default, default)

    def result_type(self, cpp):
        if cpp == "Tensor":
            return "Tensor"
        if cpp == "std::vector<Tensor>":
            return "tuple[Tensor, ...]"
        return cpp  # a named tuple

    def signature(self, function):
        words, starred = [], False
        for name, cpp, default, _, by_keyword, _ in self.arguments(function):
            if by_keyword and not starred:
                words.append("*")
                starred = True
            kind = self.python_type(cpp)
            if default is None:
                words.append(f"{name}: {kind}")
                continue
            value = self.python_default(cpp, default)
            words.append(f"{name}: {kind}{' | None' if value == 'None' else ''} = {value}")
        return f"def {function['name']}({', '.join(words)}) -> {self.result_type(function['returns'])}"

    def made(self):
        return [function for function in self.functions if function["name"] not in BY_HAND]


DTYPES = {"Bool": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16",
          "U32": "uint32", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
          "F8E4M3": "float8_e4m3fn", "F8E5M2": "float8_e5m2"}


# ---- C++ ------------------------------------------------------------------------------------------------------------
def getter(ops, cpp, place):
    if cpp in ops.enums:
        return f"call.choice<{cpp}>({place}, k{cpp})"
    if cpp in SIMPLE:
        return f"call.{SIMPLE[cpp][0]}({place})"
    if cpp.startswith("std::vector<") and cpp[12:-1] in ops.structs:
        return f"read_{cpp[12:-1]}(call, {place})"
    return f"read_{cpp}(call, {place})"


def named_result(ops, cpp, value):
    """C++ that gives a struct of tensors as a named tuple."""
    fields = ops.structs[cpp]["fields"]
    values = [f"call.result({value}.{field['name']})" if field["type"] == "Tensor"
              else named_result(ops, field["type"], f"{value}.{field['name']}") for field in fields]
    names = ", ".join(f'"{field["name"]}"' for field in fields)
    return f'call.named("{cpp}", {{{names}}}, {{{", ".join(values)}}})'


def bindings(ops):
    lines = ["// Made by python/ops/make_ops.py of ops.json.", '#include "hearth/ops.h"', '#include "op_call.h"', "",
             "namespace hearth::python {", "namespace {", "using namespace hearth::client;", ""]
    for name, values in ops.enums.items():
        words = ", ".join(f'{{"{ops.snake(value["name"])}", static_cast<int>({name}::{value["name"]})}}' for value in values)
        lines.append(f"constexpr Choice k{name}[] = {{{words}}};")
    for name, struct in ops.structs.items():
        listed = any(bare(p["type"]) == f"std::vector<{name}>" for f in ops.functions for p in f["parameters"])
        given = any(bare(p["type"]) == name for f in ops.functions for p in f["parameters"])
        if listed:
            lines += [f"std::vector<{name}> read_{name}(const OpCall& call, std::size_t place) {{",
                      f"  std::vector<{name}> all;", "  for (const Record& record : call.records(place, {"
                      + ", ".join(f'"{field["name"]}"' for field in struct["fields"]) + "})) {", f"    {name} one;"]
            for i, field in enumerate(struct["fields"]):
                kind = "real" if field["type"] == "double" else "integer"
                lines.append(f"    if (record.given({i})) one.{field['name']} = record.{kind}({i});")
            lines += ["    all.push_back(one);", "  }", "  return all;", "}"]
        elif given and not ops.is_options(name):
            lines += [f"{name} read_{name}(const OpCall& call, std::size_t place) {{",
                      f"  const std::vector<Tensor> all = call.tensors(place, {len(struct['fields'])});",
                      "  return {" + ", ".join(f"all[{i}]" for i in range(len(struct["fields"]))) + "};", "}"]
    lines.append("")
    for function in ops.made():
        rows = ops.arguments(function)
        place = {row[3]: i for i, row in enumerate(rows)}
        body, words = [], []
        for parameter in function["parameters"]:
            cpp = bare(parameter["type"])
            if ops.is_options(cpp):
                body.append(f"  {cpp} {parameter['name']};")
                for _, inner, _, path, _, _ in rows:
                    if path.startswith(parameter["name"] + "."):
                        i = place[path]
                        body.append(f"  if (call.given({i})) {path} = {getter(ops, inner, i)};")
                words.append(parameter["name"])
                continue
            i = place[parameter["name"]]
            value = getter(ops, cpp, i)
            if parameter["default"] is not None:
                kind = "std::string" if cpp == "std::string_view" else cpp
                default = "" if parameter["default"] == "{}" else parameter["default"]
                value = f"call.given({i}) ? {value} : {kind}({default})"
            words.append(value)
        expression = f"client::{function['name']}({', '.join(words)})"
        returns = function["returns"]
        if returns in ("Tensor", "std::vector<Tensor>"):
            body.append(f"  return call.result({expression});")
        else:
            body += [f"  const {returns} made = {expression};", f"  return {named_result(ops, returns, 'made')};"]
        lines += [f"nb::object op_{function['name']}(const OpCall& call) {{", *body, "}"]
    lines += ["", "}  // namespace", "", "const std::vector<OpSpec>& op_table() {", "  static const std::vector<OpSpec> table = {"]
    for function in ops.made():
        rows = ops.arguments(function)
        names = ", ".join(f'"{row[0]}"' for row in rows)
        positional = sum(1 for row in rows if not row[4])
        needed = " | ".join(f"1u << {i}" for i, row in enumerate(rows) if row[2] is None) or "0"
        doc = json.dumps(function["doc"], ensure_ascii=True).replace("\\u2026", "...")
        lines.append(f'      {{"{function["name"]}", {{{names}}}, {positional}, {needed}, &op_{function["name"]}, '
                     f"{json.dumps(ops.signature(function))}, {doc}}},")
    lines += ["  };", "  return table;", "}", "", "}  // namespace hearth::python", ""]
    return "\n".join(lines)


# ---- Stubs and page -------------------------------------------------------------------------------------------------
def stubs(ops):
    lines = ["# Made by python/ops/make_ops.py of ops.json.", "from collections.abc import Callable, Mapping, Sequence",
             "from typing import Literal, NamedTuple", "",
             "from . import Dim, Tensor", "from ._typing import DTypeLike, ShapeLike, TensorLike", ""]
    for name, struct in ops.structs.items():
        results = {function["returns"] for function in ops.functions}
        inner = {field["type"] for result in results if result in ops.structs for field in ops.structs[result]["fields"]}
        if name in results | inner:
            lines += [f"class {name}(NamedTuple):"]
            lines += [f"    {field['name']}: {ops.result_type(field['type'])}" for field in struct["fields"]]
            lines.append("")
    for function in ops.made():
        lines.append(ops.signature(function) + ": ...")
    for name in ("add", "subtract", "multiply", "divide"):
        lines.append(f"def {name}(a: TensorLike, b: TensorLike) -> Tensor: ...")
    lines.append("def loop(count: int | Dim, carried: Sequence[TensorLike], sliced: Sequence[TensorLike],"
                 " body: Callable[[tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Sequence[TensorLike], Sequence[TensorLike]]],"
                 " reverse: bool = False) -> LoopResult: ...")
    lines.append("def cubic_weight(distance: float, a: float) -> float: ...")
    return "\n".join(lines) + "\n"


def page(ops):
    lines = ["# Ops in Python", "", "`hearth.ops`, one function for each of the C++ headers; `None` stands for \"not given\".",
             "Tensors are `hearth.Tensor`s, arrays or numbers. Names of numpy and of the array API standard are in `hearth` itself.", ""]
    header = None
    for function in ops.made():
        if function["header"] != header:
            header = function["header"]
            lines += [f"## {header.removesuffix('.h')}", ""]
        lines += ["```python", ops.signature(function).removeprefix("def "), "```", ""]
        notes = [f"`{name}`: {doc}" for name, _, _, _, _, doc in ops.arguments(function) if doc]
        text = " ".join([function["doc"], *notes]).strip()
        if text:
            lines += [text, ""]
    return "\n".join(lines)


def main():
    word, *rest = sys.argv[1:]
    if word == "table":
        TABLE.write_text(json.dumps(read_table(), indent=1) + "\n")
        return
    ops = Ops(json.loads(TABLE.read_text()))
    text = {"bindings": bindings, "stubs": stubs, "page": page}[word](ops)
    out = pathlib.Path(rest[0])
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


if __name__ == "__main__":
    main()
