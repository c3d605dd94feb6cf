#!/usr/bin/env python3
"""Builds aiter's attention libraries with blobs that are compiled when they are first called: `hearth blobs build`.

    ck_jit_build.py full --aiter-dir aiter --gpu-archs "gfx942;gfx950" --tmp-dir /tmp/ck_jit --install-dir /opt/mha
    ck_jit_build.py quick --tmp-dir /tmp/ck_jit --install-dir /opt/mha
"""
import argparse

from ck_hearth import become

FULL = {
    "--aiter-dir": "path of the aiter checkout; default: CK_JIT_AITER_DIR",
    "--gpu-archs": "architectures, with ; or , between",
    "--ck-tile-bf16": "value of CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT; default: 3",
    "--tmp-dir": "scratch folder, kept for quick; default: a new one",
    "--install-dir": "where the libraries and ck_jit/ go",
    "--python": "the Python that runs compile.py",
    "--rocm-home": "ROCm's folder; default: ROCM_HOME, ROCM_PATH, /opt/rocm",
    "--compiler": "the real compiler; default: bin/hipcc of ROCm",
    "--toolchain": "what compiles blobs: hip, or c++ for libraries of plain C++",
    "--api": "fwd or bwd; default: both",
}
QUICK = {name: FULL[name] for name in ("--tmp-dir", "--aiter-dir", "--install-dir")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, options, text in (("full", FULL, "build the libraries"),
                                ("quick", QUICK, "link those of a full build again with the runtime that is installed now")):
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        for option, what in options.items():
            command.add_argument(option, help=what)
        command.add_argument("--verbose", action="store_true", help="show what is run")
        if name == "full":
            command.add_argument("--no-verify", action="store_true", help="do not check the rewritten dispatchers")
    args = vars(parser.parse_args())
    words = [args.pop("command")]
    is_verbose = args.pop("verbose")
    words += ["--no-verify"] if args.pop("no_verify", False) else []
    for name, value in args.items():
        words += [f"--{name.replace('_', '-')}", value] if value is not None else []
    become("hearth", "blobs", "build", *words, *(["--verbose"] if is_verbose else []))


if __name__ == "__main__":
    main()
