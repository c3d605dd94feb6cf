"""How a module is built: probe the compiler, generate the blobs, compile and link by ninja or make.

Environment, as aiter's: GPU_ARCHS ("gfx942;gfx90a"), AITER_JIT_DIR (where things are built), AITER_REBUILD (1: from
nothing, 2: link again), MAX_JOBS, AITER_LOG_MORE; and of the sample itself SAMPLE_BUILD=make, SAMPLE_BLOBS (a pattern
of stems: fewer blobs, for quick tests).
"""
import functools
import os
import shutil
import subprocess
import sys

from jit.sample_config import FLAVOUR
from jit.utils.cpp_extension import executable_path, jit_compile

this_dir = os.path.dirname(os.path.abspath(__file__))
AITER_ROOT_DIR = os.path.abspath(f"{this_dir}/../..")
AITER_CSRC_DIR = f"{AITER_ROOT_DIR}/csrc"
CK_DIR = f"{AITER_ROOT_DIR}/3rdparty/composable_kernel"
LANGUAGE = "hip" if FLAVOUR == "hip" else "c++"
ALLOWED_ARCHS = ["native", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201", "gfx1250"]


def get_user_jit_dir():
    folder = os.environ.get("AITER_JIT_DIR", this_dir)
    os.makedirs(folder, exist_ok=True)
    return folder


def validate_and_update_archs():
    archs = [arch.strip() for arch in os.environ.get("GPU_ARCHS", "native").split(";")]
    assert all(arch.split(":")[0] in ALLOWED_ARCHS for arch in archs), \
        f"One of GPU archs of {archs} is invalid or not supported"
    return archs


@functools.lru_cache
def hip_flag_checker(flag):
    command = [executable_path("hipcc")] + flag.split() + ["-x", LANGUAGE, "-E", "-P", "/dev/null", "-o", "/dev/null"]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print(f"[aiter] Current hipcc not support: {flag}, skip it.", file=sys.stderr)
        return False
    return True


def check_llvm_main_revision():
    """A compile from standard input, as aiter's to tell compiler versions apart."""
    program = "#include <tuple>\nvoid func(){std::tuple<int, int> t = std::tuple(1, 1); (void)t;}\n"
    command = [executable_path("hipcc"), "-x", LANGUAGE, "-P", "-c", "-std=c++17", "-Wno-unused-command-line-argument",
               "-o", "/dev/null", "-"]
    done = subprocess.run(command, input=program, text=True, check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    return 554784 if done.returncode == 0 else 554785


def hip_flags():
    flags = ["-DUSE_PROF_API=1", "-Wno-unused-result", "-Wno-switch-bool",
             f"-DDLLVM_MAIN_REVISION={check_llvm_main_revision()}", "-mllvm --lsr-drop-solution=1",
             "-mllvm -enable-post-misched=0", "-mllvm -amdgpu-early-inline-all=true",
             "-mllvm -amdgpu-function-calls=false", "-fno-offload-uniform-block"]
    if FLAVOUR == "hip":
        flags += ["-D__HIP_PLATFORM_HCC__=1", "-D__HIP_PLATFORM_AMD__=1", "-U__HIP_NO_HALF_CONVERSIONS__",
                  "-fgpu-flush-denormals-to-zero"]
        flags += [f"--offload-arch={arch}" for arch in validate_and_update_archs()]
    else:
        validate_and_update_archs()
    return [flag for flag in sorted(set(flags)) if hip_flag_checker(flag)]


def generate_blobs(commands, blob_dir):
    os.makedirs(blob_dir, exist_ok=True)
    pattern = os.environ.get("SAMPLE_BLOBS")
    extra = ["--filter", pattern] if pattern else []
    for script, *arguments in commands:
        subprocess.run([sys.executable, script, *arguments, "--output_dir", blob_dir, *extra], check=True)
    return [os.path.join(blob_dir, name) for name in os.listdir(blob_dir) if name.endswith((".cpp", ".cu"))]


def build_module(md_name, srcs, flags_extra_cc, blob_gen_cmd, extra_include):
    jit_dir = get_user_jit_dir()
    op_dir = f"{jit_dir}/build/{md_name}"
    target = f"{md_name}.so"
    rebuild = int(os.environ.get("AITER_REBUILD", "0"))
    if rebuild == 1:
        shutil.rmtree(op_dir, ignore_errors=True)
    if os.path.exists(f"{jit_dir}/{target}"):
        os.remove(f"{jit_dir}/{target}")
    build_dir = f"{op_dir}/build"
    os.makedirs(build_dir, exist_ok=True)

    flags_hip = hip_flags()
    sources = list(srcs) + generate_blobs(blob_gen_cmd, f"{op_dir}/blob/")
    includes = [f"{AITER_CSRC_DIR}/include", f"{CK_DIR}/include", f"{CK_DIR}/library/include", f"{op_dir}/blob"]
    includes = [path for path in includes if os.path.isdir(path)] + extra_include
    try:
        jit_compile(md_name, sorted(set(sources)), extra_cflags=["-O3", "-std=c++20", *flags_extra_cc],
                    extra_cuda_cflags=flags_hip, extra_include_paths=includes, build_directory=build_dir)
    except RuntimeError as error:
        raise RuntimeError(f"[aiter] build [{md_name}] under {build_dir} failed !!!!!!\n{error}") from error
    shutil.copy(f"{build_dir}/{target}", f"{jit_dir}/{target}")
    shutil.copy(f"{build_dir}/{target}", f"{AITER_ROOT_DIR}/op_tests/cpp/mha")
    print(f"[aiter] finish build [{md_name}]")
