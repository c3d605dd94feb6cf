"""Rooms of a station, from the ground up: a file includes only files of its own room and of rooms before it. Used by
layering_test.py."""
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# "." is what lies in the station's folder itself. Rooms in one tuple do not see each other.
ORDER = {
    "compiler": [("ir",), ("rewrite", "target"), ("rules",), ("schedule",), ("passes",), ("codegen",), (".",)],
    "compiler/passes": [("import", "lowered"), ("tensor",), (".",), ("ranged",), ("kernel",), ("plan",)],
    "client": [("tensor",), ("trace",), ("ops", "connection"), ("jit",), ("files",), ("onnx", "c_abi"), ("cli",)],
    "runtime": [("plan", "memory"), ("hal",), ("weights", "devices"), ("replay",)],
    "daemon": [("sockets", "store", "async", "worker_pool", "remote"), ("blobs", "weights", "worker", "packs"), ("prepare",), ("tune",), ("serve",)],
}
# Files of a station's own folder that every room of it may include.
GROUND = {
    "daemon": {"activity", "client_id", "config", "exit_deadline", "health", "installation", "log_fields", "log_limit", "metrics", "operator",
               "service_manager", "setting", "trusted_file", "version"},
    "runtime": {"thread_pool", "float_mode", "build_id", "blob_library"},
    "compiler/passes": {"report", "spec"},
}


def room_of(station, path):
    rest = path[len(station) + 1:]
    return rest.split("/")[0] if "/" in rest else "."


def wrong_includes(root):
    """A line for each include against the order, and how many files were read."""
    wrong, seen = [], 0
    for station, order in ORDER.items():
        floor = {name: i for i, names in enumerate(order) for name in names}
        for path in sorted((root / station).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            seen += 1
            name = str(path.relative_to(root))
            here = room_of(station, name)
            for included in INCLUDE.findall(path.read_text()):
                if not included.startswith(station + "/"):
                    continue
                there = room_of(station, included)
                is_ground = there == "." and included[len(station) + 1:].split(".")[0] in GROUND.get(station, ())
                assembles = here == "." and here not in floor
                if here == there or is_ground or assembles:
                    continue
                if here not in floor or there not in floor or floor[there] >= floor[here]:
                    wrong.append(f"{name}: {here} includes {included} of {there}")
    return wrong, seen
