#!/usr/bin/env python3
"""libhearth_static.a is whole: what its objects need of Hearth is in it, so that a program links with it and Debian's
libraries alone.  /usr/bin/python3 tests/unit/client/static_archive_test.py ARCHIVE
"""
import subprocess
import sys


def symbols(archive, *flags):
    out = subprocess.run(["nm", *flags, archive], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines() if line and not line.endswith(":")}


def main(archive):
    needed = {name for name in symbols(archive, "--undefined-only") if "6hearth" in name}
    missing = sorted(needed - symbols(archive, "--defined-only"))
    if len(needed) < 100:
        sys.exit(f"{archive}: only {len(needed)} symbols of Hearth are used across its objects: not the archive meant")
    for name in missing[:10]:
        print(f"{archive} lacks {name}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
