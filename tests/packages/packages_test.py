#!/usr/bin/env python3
"""The Debian packages, packed from a build: what is in them, that they depend on every library that their programs need
(NEEDED of readelf -d, and what those need, against what dpkg knows here), their sizes, and lintian's word.
/usr/bin/python3 packages_test.py SOURCE_DIR BUILD_DIR"""
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import skipping  # noqa: E402


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def package_closure(packages):
    """With what they depend on and what every Debian has; the first of alternatives that is installed here."""
    depends, base = {}, []
    for line in lines_of("dpkg-query", "-W",
                         "-f=${Package}\t${Priority}\t${Essential}\t${Depends}, ${Pre-Depends}\t${Provides}\n"):
        name, priority, essential, wanted, provides = line.split("\t")
        for virtual in provides.split(","):  # who depends on one has what provides it
            if virtual.strip():
                depends.setdefault(virtual.split("(")[0].strip(), [[name]])
        depends[name] = [[word.split(":")[0].split(" ")[0] for word in choice.split(" | ")]
                         for choice in (part.strip() for part in wanted.split(",")) if choice]
        if priority == "required" or essential == "yes":
            base.append(name)
    missing = [name for name in packages if name not in depends]
    closure, waiting = set(), [*base, *packages]
    while waiting:
        name = waiting.pop()
        if name in closure or name not in depends:
            continue
        closure.add(name)
        for choices in depends[name]:
            waiting += [choice for choice in choices if choice in depends][:1]
    return closure, missing


def needed(file):
    return [match[1] for line in lines_of("readelf", "-d", str(file)) if (match := re.search(r"\(NEEDED\).*\[(.+)\]", line))]


def library_closure(program, own):
    """Sonames -> file, of the system's libraries; the project's own, which lie in the folders `own`, are looked through."""
    where = {}
    for line in lines_of("ldconfig", "-p"):
        if match := re.match(r"\s+(\S+) \(libc6,x86-64.*\) => (\S+)", line):
            where.setdefault(match[1], match[2])
    found, waiting = {}, [program]
    while waiting:
        for soname in needed(waiting.pop()):
            if mine := [folder / soname for folder in own if (folder / soname).exists()]:
                waiting.append(mine[0])
            elif soname not in found:
                found[soname] = where.get(soname)
                if found[soname]:
                    waiting.append(found[soname])
    return found


@functools.cache
def package_of(file):
    """None for a file that no package brought; dpkg knows some under / and some under /usr."""
    real = os.path.realpath(file)
    for name in (real, real.removeprefix("/usr"), file, file.removeprefix("/usr")):
        done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return None


CONTENTS = {  # what a user would miss
    "hearth": ["usr/bin/hearth", "usr/bin/hearthd", "usr/libexec/hearth/hearth-worker", "usr/share/man/man1/hearth-run.1.gz",
               "usr/share/man/man8/hearthd.8.gz", "usr/share/bash-completion/completions/hearth",
               "usr/lib/systemd/system/hearthd.socket", "usr/lib/systemd/system/hearthd.service",
               "usr/lib/tmpfiles.d/hearth.conf", "usr/share/doc/hearth/README.md", "usr/share/doc/hearth/docs/operations.md",
               "usr/share/doc/hearth/deploy/kubernetes/daemonset.yaml"],
    "libhearth0": ["usr/lib/x86_64-linux-gnu/libhearth.so.0", "usr/libexec/hearth/hearth-vulkan-trial"],
    "libhearth-dev": ["usr/include/hearth/prepare.h", "usr/include/hearth/hearth.h",
                      "usr/lib/x86_64-linux-gnu/libhearth.so", "usr/lib/x86_64-linux-gnu/pkgconfig/hearth.pc",
                      "usr/lib/x86_64-linux-gnu/cmake/hearth/hearthConfig.cmake",
                      "usr/share/doc/libhearth-dev/examples/standalone/CMakeLists.txt",
                      "usr/share/doc/libhearth-dev/examples/silero_vad/main.cpp"],
    "python3-hearth": ["usr/lib/python3/dist-packages/hearth/__init__.py", "usr/lib/python3/dist-packages/hearth/_hearth.abi3.so",
                       "usr/lib/python3/dist-packages/hearth/py.typed"],
    "hearth-blobs": ["usr/libexec/hearth/hearth-blob-worker", "usr/bin/hearth-blobc", "usr/lib/hearth/libhearth_blob.a",
                     "usr/share/hearth/ck_jit/ck_jit_build.py", "usr/share/hearth/ck_jit/ck_hearth.py"],
}
MOST_MB = 8  # of a package; LLVM and gRPC are Debian's


def depends_of(package):
    """Names, the first of alternatives."""
    field = subprocess.run(["dpkg-deb", "-f", str(package), "Depends"], capture_output=True, text=True, check=True).stdout
    return [part.split("|")[0].split("(")[0].strip() for part in field.split(",") if part.strip()]


def outer_depends(package, own):
    """Packages of others that it depends on, by itself or through those of ours."""
    names = depends_of(package)
    return [outer for name in names for outer in (outer_depends(own[name], own) if name in own else [name])]


def check_libraries(name, root, closure, wrong):
    """Every library that a program of the package needs is in what the package depends on."""
    checked = 0
    for file in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        if file.read_bytes()[:4] != b"\x7fELF":
            continue
        dynamic = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True, check=False).stdout
        if "RPATH" in dynamic or "RUNPATH" in dynamic:
            wrong.append(f"{name}: {file.name} has a path to libraries of the build")
        own = [root.parent / "libhearth0/usr/lib/x86_64-linux-gnu"]
        for soname, library in sorted(library_closure(file, own).items()):
            checked += 1
            owner = package_of(library) if library else None
            if owner not in closure:
                wrong.append(f"{name}: {file.name} needs {soname} ({owner or 'no package'}), on which it does not depend")
    return checked


def main(source, build):
    wrong, checked = [], 0
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["cpack", "-B", folder], cwd=build, capture_output=True, text=True, check=False)
        if packed.returncode != 0:
            sys.exit(packed.stdout + packed.stderr)
        packages = {path.name.split("_")[0]: path for path in Path(folder).glob("*.deb")}
        expected = set(CONTENTS)
        if not (build / "python_system/hearth/_hearth.abi3.so").exists():
            expected.remove("python3-hearth")
            skipping.skip_part("python3-hearth", "the Python package is not built: it needs nanobind 3 (scripts/python.sh)")
        if set(packages) != expected:
            sys.exit(f"packages are {sorted(packages)}, expected {sorted(expected)}")
        (Path(folder) / "root").mkdir()
        for name, package in packages.items():
            subprocess.run(["dpkg-deb", "-x", str(package), str(Path(folder) / "root" / name)], check=True)
        for name, package in sorted(packages.items()):
            root = Path(folder) / "root" / name
            wrong += [f"{name} lacks {path}" for path in CONTENTS[name] if not os.path.lexists(root / path)]
            if package.stat().st_size > MOST_MB * 1e6:
                wrong.append(f"{name} has {package.stat().st_size} bytes")
            closure, _ = package_closure(outer_depends(package, packages))
            checked += check_libraries(name, root, closure, wrong)
        if shutil.which("lintian"):
            judged = subprocess.run(["lintian", "--fail-on", "error", *map(str, packages.values())],
                                    capture_output=True, text=True, check=False)
            wrong += [line for line in judged.stdout.splitlines() if line.startswith("E:")]
        else:
            wrong.append("lintian is not installed: scripts/setup.sh installs it")
    for stage in ("daemon", "blobs", "sdk"):
        if f" AS {stage}\n" not in (source / "Dockerfile").read_text():
            wrong.append(f"the Dockerfile has no stage {stage}")
    print(f"{len(packages)} packages, {checked} libraries of programs checked")
    if checked < 20:
        wrong.append("hardly any library was found: the packages have another form than this test reads")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
