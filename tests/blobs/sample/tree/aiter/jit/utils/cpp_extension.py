"""Writes build.ninja (or a Makefile) and runs it: every source by $ROCM_HOME/bin/hipcc, the link by $CXX from a
response file that is deleted afterwards."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings

from jit.sample_config import FLAVOUR

COMMON_HIP_FLAGS = ["-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM=1", "-DHIPBLAS_V2", "-fPIC"]
COMMON_HIPCC_FLAGS = ["-DCUDA_HAS_FP16=1", "-D__HIP_NO_HALF_OPERATORS__=1", "-D__HIP_NO_HALF_CONVERSIONS__=1",
                      "-ffunction-sections", "-fdata-sections"]
if FLAVOUR == "hip":
    COMMON_HIPCC_FLAGS += ["-fno-unique-section-names", "-fno-gpu-rdc"]
if not int(os.environ.get("AITER_SYMBOL_VISIBLE", "0")):
    COMMON_HIPCC_FLAGS += ["-fvisibility=hidden", "-fvisibility-inlines-hidden"]


def rocm_home():
    home = os.environ.get("ROCM_HOME") or os.environ.get("ROCM_PATH")
    if home:
        return home
    hipcc = shutil.which("hipcc")
    if hipcc is None:
        raise OSError("ROCM_HOME environment variable is not set. Please set it to your ROCm install root.")
    return os.path.dirname(os.path.dirname(os.path.realpath(hipcc)))


def executable_path(name):
    return os.path.join(rocm_home(), "bin", name)


def cxx_compiler():
    return os.environ.get("CXX", "c++")


def check_compiler(compiler):
    """The questions that aiter asks of the linker's program; the answers only matter for a warning."""
    if shutil.which(compiler) is None:
        raise RuntimeError(f"CXX={compiler}: no such program")
    said = subprocess.run([compiler, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    version = subprocess.run([compiler, "-dumpfullversion", "-dumpversion"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=False).stdout
    if "clang version" not in said and not re.search(r"(\d+)\.(\d+)", version):
        warnings.warn(f"{compiler} may not be compatible with this project")


def number_of_workers():
    jobs = os.environ.get("MAX_JOBS", "")
    return int(jobs) if jobs.isdigit() and int(jobs) > 0 else max(1, os.cpu_count() or 1)


def object_name(source):
    return os.path.splitext(os.path.basename(source))[0] + ".cuda.o"


def ninja_path(path):
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def write_ninja(path, name, sources, cflags, post_cflags, ldflags):
    """As aiter's file; flags that concern one language only stand at the source, since g++ does not know .cu."""
    lines = ["ninja_required_version = 1.3", f"cxx = {cxx_compiler()}", "linker = $cxx",
             f"nvcc = {shlex.quote(executable_path('hipcc'))}", "", f"cuda_cflags = {' '.join(cflags)}",
             f"cuda_post_cflags = {' '.join(post_cflags)}", f"ldflags = {' '.join(ldflags)}", "", "rule cuda_compile",
             "  command = $nvcc  $cuda_cflags -c $in -o $out $cuda_post_cflags", "", "rule link",
             "  command = $linker @$out.rsp $ldflags -o $out", "  rspfile = $out.rsp", "  rspfile_content = $in", ""]
    for source in sources:
        lines.append(f"build {ninja_path(object_name(source))}: cuda_compile {ninja_path(os.path.abspath(source))}")
        if needs_language(source):
            lines.append("  cuda_cflags = " + " ".join([*cflags, "-x c++"]))
    objects = " ".join(ninja_path(object_name(source)) for source in sources)
    lines += ["", f"build {name}.so: link {objects}", "", f"default {name}.so", ""]
    write_if_changed(path, "\n".join(lines))


def write_make(path, name, sources, cflags, post_cflags, ldflags):
    def quoted(words):
        return " ".join(words).replace("$", "$$")

    objects = [object_name(source) for source in sources]
    lines = [f"CUDA_CFLAGS = {quoted(cflags)}", f"CUDA_POST_CFLAGS = {quoted(post_cflags)}",
             f"OBJECTS = {' '.join(objects)}", "", f"{name}.so: $(OBJECTS)",
             "\t@printf '%s\\n' $(OBJECTS) > $@.rsp",
             f"\t{cxx_compiler()} @$@.rsp {quoted(ldflags)} -o $@; status=$$?; rm -f $@.rsp; exit $$status", ""]
    for source in sources:
        where = os.path.abspath(source)
        language = "-x c++ " if needs_language(source) else ""
        needs = where.replace(" ", "\\ ").replace("$", "$$")
        lines += [f"{object_name(source)}: {needs}",
                  f"\t{quoted([shlex.quote(executable_path('hipcc'))])} $(CUDA_CFLAGS) {language}-c "
                  f"{quoted([shlex.quote(where)])} -o $@ $(CUDA_POST_CFLAGS)", ""]
    write_if_changed(path, "\n".join(lines))


def needs_language(source):
    return FLAVOUR == "cpu" and source.endswith(".cu")


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def jit_compile(name, sources, extra_cflags, extra_cuda_cflags, extra_include_paths, build_directory):
    check_compiler(cxx_compiler())
    includes = [f"-I{shlex.quote(os.path.abspath(path))}" for path in extra_include_paths]
    cflags = ["-DWITH_HIP", *includes, *extra_cflags, *COMMON_HIP_FLAGS, *COMMON_HIPCC_FLAGS, "-std=c++20",
              *extra_cuda_cflags]
    ldflags = ["-shared"]
    if FLAVOUR == "hip":
        ldflags += [f"-L{shlex.quote(os.path.join(rocm_home(), 'lib'))}", "-lamdhip64"]
    jobs = str(number_of_workers())
    if os.environ.get("SAMPLE_BUILD", "ninja") == "make":
        write_make(os.path.join(build_directory, "Makefile"), name, sources, cflags, COMMON_HIP_FLAGS, ldflags)
        command = ["make", "-j", jobs]
    else:
        write_ninja(os.path.join(build_directory, "build.ninja"), name, sources, cflags, COMMON_HIP_FLAGS, ldflags)
        command = ["ninja", "-v", "-j", jobs]
    sys.stdout.flush()
    verbose = int(os.environ.get("AITER_LOG_MORE", "0")) > 0
    done = subprocess.run(command, cwd=build_directory, check=False, text=True, errors="replace",
                          stdout=None if verbose else subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise RuntimeError(f"Error building extension '{name}': {done.stdout or ''}")
