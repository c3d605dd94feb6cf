"""Builds libmha_fwd.so and libmha_bwd.so, as aiter's program of this name: --api fwd, bwd, or both when not given."""
import argparse
import os
import sys

this_dir = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{this_dir}/../../../aiter/")
from jit.core import AITER_CSRC_DIR, CK_DIR, build_module  # noqa: E402

FMHA_DIR = f"{CK_DIR}/example/ck_tile/01_fmha"


def generator(api):
    return [f"{FMHA_DIR}/generate.py", "-d", api, "--receipt", "600"]


def compile_mha_fwd():
    build_module("libmha_fwd",
                 srcs=[f"{AITER_CSRC_DIR}/cpp_itfs/{name}.cu"
                       for name in ("mha_fwd", "mha_fwd_split", "mha_fwd_append")],
                 flags_extra_cc=["-DFAV3_ON=1 -DFAV2_ON=1"],
                 blob_gen_cmd=[generator("fwd"), generator("fwd_splitkv"), generator("fwd_appendkv")],
                 extra_include=[FMHA_DIR])


def compile_mha_bwd():
    build_module("libmha_bwd", srcs=[f"{AITER_CSRC_DIR}/cpp_itfs/mha_bwd.cu"], flags_extra_cc=[],
                 blob_gen_cmd=[generator("bwd")], extra_include=[FMHA_DIR])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="compile", description="compile C++ instance with torch excluded")
    parser.add_argument("--api", default="", help="fwd or bwd; both when not given")
    args = parser.parse_args()
    if args.api not in ("", "fwd", "bwd"):
        raise ValueError("Invalid input value: only support 'fwd', 'bwd' or default to be ''")
    if args.api in ("", "fwd"):
        compile_mha_fwd()
    if args.api in ("", "bwd"):
        compile_mha_bwd()
