"""Writes the blobs and the dispatcher of one API. The sample's own; called as ComposableKernel's is."""
import argparse
import fnmatch
import importlib
from pathlib import Path

APIS = {"fwd": "fmha_fwd", "fwd_splitkv": "fmha_fwd_splitkv", "fwd_appendkv": "fmha_fwd_appendkv", "bwd": "fmha_bwd"}


def main():
    parser = argparse.ArgumentParser(prog="generate", description="generate the blobs of an API")
    parser.add_argument("-d", "--direction", default="fwd", help="APIs, separated by commas: " + ", ".join(APIS))
    parser.add_argument("-o", "--output_dir", default=".", help="where the sources go")
    parser.add_argument("-l", "--list_blobs", help="write the names to this file, and nothing else")
    parser.add_argument("-f", "--filter", default="*", help="only kernels whose stem matches, and what they need")
    parser.add_argument("-r", "--receipt", default="0", help="accepted, and of no effect here")
    args = parser.parse_args()

    for api in args.direction.split(","):
        if api not in APIS:
            parser.error(f"no such API: {api!r}; there are {', '.join(APIS)}")
        operation = importlib.import_module("codegen.ops." + APIS[api])
        files = operation.files(lambda stem: fnmatch.fnmatch(stem, args.filter))
        output = Path(args.output_dir)
        if args.list_blobs:
            with open(args.list_blobs, "a", encoding="utf-8") as listing:
                listing.writelines(f"{output / name}\n" for name, _ in files)
            continue
        output.mkdir(parents=True, exist_ok=True)
        for name, text in files:
            path = output / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:  # unchanged files keep their time
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
