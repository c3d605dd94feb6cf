"""Emits the sample library: a project that looks to tools like an aiter checkout with ComposableKernel inside.

  generate.py --out DIR --flavour cpu|hip --generation 2024|2026 [--blobs small|full] [--arch gfx942,gfx90a]

DIR must not exist, or be empty. The tree is `tree/` with `tree_<flavour>/` laid over it and two files that say which
sample this is. Build it as aiter is built:
  ROCM_HOME=… GPU_ARCHS=gfx942 python3 DIR/op_tests/cpp/mha/compile.py --api fwd
"""
import argparse
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CK = Path("3rdparty/composable_kernel")

CONFIG_HPP = """// Which sample this is.
#pragma once

#define CK_TILE_GENERATION {generation}
"""

SAMPLE_CONFIG_PY = '''"""Which sample this is."""
GENERATION = {generation}
FLAVOUR = "{flavour}"
BLOBS = "{blobs}"
ARCHS = {archs!r}
'''


def emit(out, flavour, generation, blobs, archs):
    for source in (HERE / "tree", HERE / f"tree_{flavour}"):
        shutil.copytree(source, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    values = dict(generation=generation, flavour=flavour, blobs=blobs, archs=archs)
    texts = {CK / "include/ck_tile/config.hpp": CONFIG_HPP,
             CK / "example/ck_tile/01_fmha/codegen/sample_config.py": SAMPLE_CONFIG_PY,
             Path("aiter/jit/sample_config.py"): SAMPLE_CONFIG_PY}
    for path, text in texts.items():
        (out / path).write_text(text.format(**values), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--flavour", required=True, choices=("cpu", "hip"))
    parser.add_argument("--generation", required=True, type=int, choices=(2024, 2026))
    parser.add_argument("--blobs", default="small", choices=("small", "full"))
    parser.add_argument("--arch", default="gfx942,gfx90a", help="what 2026 generates kernels for; the first has most")
    args = parser.parse_args()

    archs = args.arch.split(",")
    for arch in archs:
        if not re.fullmatch(r"gfx(9|90a|942|950)", arch):
            parser.error(f"--arch {arch!r}: the sample knows gfx9, gfx90a, gfx942 and gfx950")
    if len(set(archs)) != len(archs):
        parser.error(f"--arch {args.arch!r}: an architecture is named twice")
    if args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        parser.error(f"--out {args.out}: exists and is not an empty folder; name a new one")
    emit(args.out, args.flavour, args.generation, args.blobs, archs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
