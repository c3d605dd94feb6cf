#!/usr/bin/env python3
"""Every library that a program of the Dockerfile's images needs is installed there: the closure of the programs' NEEDED
entries (readelf -d) against the closure of the packages that the stage installs, as dpkg knows them here.
/usr/bin/python3 image_libraries_test.py SOURCE_DIR BUILD_DIR"""
import functools
import os
import re
import subprocess
import sys
from pathlib import Path


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def stages(text):
    """Stage -> (packages that it installs, programs that it copies from the build)."""
    found = {}
    for part in re.split(r"(?m)^FROM ", text)[1:]:
        head, body = part.split("\n", 1)
        name = head.split(" AS ")[1].strip()
        body = body.replace("\\\n", " ")
        packages = [word for install in re.findall(r"apt-get install (.*?)(?:&&|\n|$)", body)
                    for word in install.split() if not word.startswith("-")]
        programs = [Path(word).name for word in re.findall(r"/src/build/release/bin/(\S+)", body)]
        found[name] = (packages, programs)
    return found


def package_closure(packages):
    """With what they depend on and what every Debian has; the first of alternatives that is installed here."""
    depends, base = {}, []
    for line in lines_of("dpkg-query", "-W", "-f=${Package}\t${Priority}\t${Essential}\t${Depends}, ${Pre-Depends}\n"):
        name, priority, essential, wanted = line.split("\t")
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
    """Sonames -> file, of the system's libraries; the project's own are looked through."""
    where = {}
    for line in lines_of("ldconfig", "-p"):
        if match := re.match(r"\s+(\S+) \(libc6,x86-64.*\) => (\S+)", line):
            where.setdefault(match[1], match[2])
    found, waiting = {}, [program]
    while waiting:
        for soname in needed(waiting.pop()):
            if (own / soname).exists():
                waiting.append(own / soname)
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


def main(source, build):
    wrong, checked = [], 0
    for stage, (packages, programs) in stages((source / "Dockerfile").read_text()).items():
        if not programs:
            continue
        closure, missing = package_closure(packages)
        wrong += [f"{stage}: package {name} is not installed here, nothing can be said of it" for name in missing]
        for name in programs:
            if not (build / "bin" / name).exists():
                wrong.append(f"{stage}: {name} is not built")
                continue
            libraries = library_closure(build / "bin" / name, build / "lib")
            for soname, file in sorted(libraries.items()):
                checked += 1
                owner = package_of(file) if file else None
                if owner not in closure:
                    wrong.append(f"{stage}: {name} needs {soname} ({owner or 'no package'}), which the stage lacks")
    print(f"{checked} libraries of programs checked")
    if checked < 20:
        wrong.append("hardly any library was found: the Dockerfile has another form than this test reads")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
