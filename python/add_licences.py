#!/usr/bin/env python3
"""add_licences.py WHEEL [PACKAGE...]: puts into a repaired wheel the copyright files of the Debian packages whose shared
libraries auditwheel grafted into it, and of the packages named (what is linked statically), as dist-info/licenses/; and
BUNDLED.txt, which says which versions of them these are, a package a line."""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile


def package_of(library):
    """The Debian package of a grafted library: libfmt-4f700944.so.9.1.0 was libfmt.so.9.1.0."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    found = subprocess.run(["dpkg", "-S", f"*/{name}"], capture_output=True, text=True).stdout.splitlines()
    return found[0].split(":")[0] if found else None


def version_of(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True).stdout


def main(path, *packages):
    path = pathlib.Path(path)
    with zipfile.ZipFile(path) as wheel:
        entries = {info: wheel.read(info) for info in wheel.infolist()}
    folder = next(info.filename.split("/")[0] for info in entries if info.filename.endswith(".dist-info/RECORD"))
    libraries = sorted({pathlib.PurePosixPath(info.filename).name for info in entries if ".libs/" in info.filename and ".so" in info.filename})
    names = set(packages)
    for library in libraries:
        package = package_of(library)
        if package is None:
            sys.exit(f"{path.name}: {library} is of no Debian package; its licence is not known")
        names.add(package)
    texts = {name: (pathlib.Path("/usr/share/doc") / name / "copyright").read_bytes() for name in names}
    texts["BUNDLED"] = "".join(f"{name} {version_of(name)}\n" for name in sorted(names)).encode()
    added, lines = {}, []
    for name, text in sorted(texts.items()):
        file = f"{folder}/licenses/{name}.txt"
        added[file] = text
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        lines.append(f"{file},sha256={digest},{len(text)}\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for info, data in entries.items():
            if info.filename == f"{folder}/RECORD":
                data += "".join(lines).encode()
            wheel.writestr(info, data, zipfile.ZIP_DEFLATED)
        for file, text in added.items():
            wheel.writestr(file, text)
    print(f"{path.name}: {len(libraries)} libraries of others, {len(added)} licences, {path.stat().st_size / 1e6:.1f} MB")


main(*sys.argv[1:])
