#!/usr/bin/env python3
"""Checks what documents say of the code: every test that docs/internal/jit_conformance.md names is a test case, every operator of the
importer stands in docs/onnx.md, every kind of JIT error in docs/errors.md, every op of the Tensor API in a test
against numpy.  /usr/bin/python3 tests/unit/docs/documents_test.py SOURCE_DIR
"""
import pathlib
import re
import sys


NOT_IN_NUMPY = ("saturating_cast",)  # to fp8: tests/unit/reference/fp8_test.cpp judges it


def main(root):
    wrong = []
    cases = set()
    for path in (root / "tests").rglob("*.cpp"):
        # Adjacent literals are one name.
        for literals in re.findall(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', path.read_text()):
            cases.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)))
    sdk = (root / "docs/sdk.md").read_text()
    conformance = (root / "docs/internal/jit_conformance.md").read_text()
    rows = [line for line in conformance.splitlines() if line.startswith("| ")]
    named = 0
    for row in rows:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        if len(cells) != 3 or not re.fullmatch(r"`[^`]*`", cells[2]) or " " not in cells[2]:
            continue
        named += 1
        if cells[2].strip("`") not in cases:
            wrong.append(f"docs/internal/jit_conformance.md: there is no test case {cells[2]}")
    if named < 40:
        wrong.append(f"docs/internal/jit_conformance.md names only {named} tests")
    onnx = (root / "docs/onnx.md").read_text()
    operators = set()
    for path in (root / "client/onnx").glob("ops_*.cpp"):
        for table in re.findall(r"OperatorEntry kOperators\[\] = \{(.*?)\n\};", path.read_text(), re.S):
            operators.update(re.findall(r'\{"(\w+)", ', table))
    if len(operators) < 100:
        wrong.append(f"only {len(operators)} operators found in client/onnx")
    wrong += [f"docs/onnx.md does not list {op}" for op in sorted(operators) if not re.search(rf"\| (\S*::)?{op} \|", onnx)]
    judged = "".join(path.read_text() for path in (root / "tests/conformance/numpy").glob("*_test.cpp"))
    ops = 0
    for path in sorted((root / "include/hearth/ops").glob("*.h")):
        for op in re.findall(r"^(?:Tensor|std::vector<Tensor>|[A-Z]\w+) (\w+)\(", path.read_text(), re.M):
            ops += 1
            if f"`{op}`" not in sdk:
                wrong.append(f"docs/sdk.md does not list {op}")
            if op not in NOT_IN_NUMPY and not re.search(rf"\b{op}\b", judged):
                wrong.append(f"{path.name}: {op} has no case in tests/conformance/numpy")
    if ops < 150:
        wrong.append(f"only {ops} ops found in include/hearth/ops")
    errors = (root / "docs/errors.md").read_text()
    kinds = re.findall(r'return "(\w+)";', (root / "client/jit/error_kind.cpp").read_text())
    wrong += [f"docs/errors.md does not explain {kind}" for kind in kinds if kind != "unknown" and kind not in errors]
    for line in wrong:
        print(line)
    print(f"{named} rows of docs/internal/jit_conformance.md, {len(operators)} operators, {ops} ops, {len(kinds) - 1} kinds of errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
