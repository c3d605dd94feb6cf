#!/usr/bin/env python3
"""Checks what documents say of the code: every test that docs/internal/jit_conformance.md names is a test case, every operator of the
importer stands in docs/onnx.md, every kind of JIT error in docs/errors.md, every op of the Tensor API in a test
against numpy.  /usr/bin/python3 tests/unit/docs/documents_test.py SOURCE_DIR
"""
import pathlib
import re
import sys


# Tests wait for events (tests/support/eventually.h), for minutes, or prove an absence with a clock that they turn
# (tests/support/manual_clock.h): none compares two real durations. What sleeps or counts from now all the same, and how
# often; the list may only shrink. A compiler that takes its time, a pause between measured runs, a look of the daemon's
# that no counter shows, deadlines of calls.
SLEEPS = {"tests/bench/fleet/tiers.cpp": 1, "tests/bench/fork_join_bench.cpp": 1, "tests/fault/sandbox/worker_end_test.cpp": 1,
          "tests/unit/cli/isolated_test.cpp": 1, "tests/unit/daemon/fake_worker.cpp": 3}
DEADLINES = {"tests/fuzz/service/service_fuzz_test.cpp": 1, "tests/integration/bad_graph_test.cpp": 2,
             "tests/integration/blob_plan_test.cpp": 1, "tests/integration/blob_service_test.cpp": 1,
             "tests/integration/shared_weights_test.cpp": 2, "tests/unit/blob_compiler/compile_test.cpp": 1,
             "tests/unit/client/rpc_test.cpp": 1, "tests/unit/client/starter_test.cpp": 4,
             "tests/unit/daemon/blob_fixture.h": 1, "tests/unit/daemon/blob_test.cpp": 1,
             "tests/unit/daemon/daemon_fixture.h": 1, "tests/unit/daemon/hostile_calls_test.cpp": 1,
             "tests/unit/daemon/session_test.cpp": 1, "tests/unit/daemon/worker_pool_test.cpp": 1}
NOT_IN_NUMPY = ("saturating_cast",)  # to fp8: tests/unit/reference/fp8_test.cpp judges it


def by_the_clock(root, pattern, allowed):
    """What sleeps or counts from now in tests outside of tests/support, and is not in the list or no longer there."""
    found = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".h", ".cpp") and "support" not in path.parts and (allowed is SLEEPS or "bench" not in path.parts):
            count = len(re.findall(pattern, path.read_text()))
            if count:
                found[str(path.relative_to(root))] = count
    for name in sorted(found.keys() | allowed.keys()):
        have, may = found.get(name, 0), allowed.get(name, 0)
        if have > may:
            yield f"{name}: {have} times {pattern}, and {may} are allowed: wait for an event (tests/support/eventually.h)"
        if have < may:
            yield f"{name}: {have} times {pattern} is less than {may}: shorten the list in documents_test.py"


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
    wrong += by_the_clock(root, r"sleep_for\(", SLEEPS)
    wrong += by_the_clock(root, r"now\(\) \+", DEADLINES)
    wrong += [f"{path.relative_to(root)} names a folder beside this one" for folder in ("tests", "scripts", "examples", "docs")
              for path in (root / folder).rglob("*") if path.is_file() and path.name != "documents_test.py"
              and b"/".join((b"..", b"shared")) in path.read_bytes()]
    product = ("base", "blobs", "client", "command_line", "compiler", "daemon", "include", "kernels_cache", "proto", "python", "runtime")
    # A comment that begins with a word whose noun stands elsewhere has to be read twice.
    for folder in product:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".proto"):
                for i, line in enumerate(path.read_text().split("\n"), 1):
                    if re.match(r"\s*// (?:Of|Those|Likewise)\b", line):
                        wrong.append(f"{path.relative_to(root)}:{i}: a comment names its subject: {line.strip()[:40]}…")
    for line in wrong:
        print(line)
    print(f"{named} rows of docs/internal/jit_conformance.md, {len(operators)} operators, {ops} ops, {len(kinds) - 1} kinds of errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
