#!/usr/bin/env python3
"""Compiles blobs ahead of use: list, build and clean.

With a folder (--cache-dir, CK_JIT_CACHE_DIR) the hearth-blobc beside this file compiles into it. Without one the blobs
belong where the libraries look first: `hearth blobs prewarm` asks the daemon, if hearth is installed.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MANIFEST = "ck_jit_manifest.json"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("list", "which blobs there are and which are cached"), ("build", "compile blobs"),
                       ("clean", "remove cached blobs")):
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        command.add_argument("blobs", nargs="*", help="stems, file names, source paths or cached .so paths")
        command.add_argument("--blob", action="append", default=[], help="one more of them; may be repeated")
        command.add_argument("--blob-list", help="file with one blob a line; - is standard input")
        command.add_argument("--manifest", help="default: CK_JIT_MANIFEST, else the one beside this file")
        command.add_argument("--cache-dir", help="default: CK_JIT_CACHE_DIR")
        command.add_argument("--root", help="folder of the sources; default: CK_JIT_ROOT, else the manifest's")
        command.add_argument("--all", action="store_true", help="every blob")
        command.add_argument("-j", "--jobs", type=int, default=max(1, os.cpu_count() or 1), help="blobs at once")
    args = parser.parse_args()
    args.blobs += args.blob
    return args


def stem_of(name):
    base = os.path.basename(name)
    for ending in (".cpp", ".cu", ".hip", ".so", ".o"):
        base = base.removesuffix(ending)
    return base


def named(args):
    names = list(args.blobs)
    if args.blob_list:
        text = sys.stdin.read() if args.blob_list == "-" else Path(args.blob_list).read_text(encoding="utf-8")
        names += [line.split("#")[0].strip() for line in text.splitlines()]
    return list(dict.fromkeys(stem_of(name) for name in names if name))


def installed_hearth():
    """hearth on PATH, or None. Relative folders of PATH are of the current folder, which may be anybody's."""
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    return shutil.which("hearth", path=os.pathsep.join(folders)) if folders else None


def delegate(hearth, args, manifest):
    command = [hearth, "blobs", "prewarm", args.command, "--manifest", str(manifest), *args.blobs]
    for flag, value in (("--blob-list", args.blob_list), ("--root", args.root)):
        command += [flag, value] if value else []
    command += ["--all"] if args.all else []
    command += ["--jobs", str(args.jobs)] if args.command == "build" else []
    os.execv(command[0], command)


def build_one(stem, manifest, root, cache):
    done = subprocess.run([HERE / "hearth-blobc", "--manifest", manifest, "--root", root, "--stem", stem, "--cache-dir",
                           cache], capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"message": done.stderr.strip() or f"hearth-blobc ended with {done.returncode}"}
    return None if done.returncode == 0 else answer.get("message", "failed")


def root_of(args, manifest, blobs):
    """The folder that holds the blobs' sources: as given, else where they were installed, beside the manifest."""
    given = args.root or os.environ.get("CK_JIT_ROOT")
    root = Path(given or manifest.parent).absolute()
    source = blobs[0].get("source", "") if blobs else ""
    if given and not (root / source).exists() and (manifest.parent / source).exists():
        print(f"ck_jit_prebuild.py: {root} holds no {source}; sources are taken from {manifest.parent}", file=sys.stderr)
        return manifest.parent
    return root


def build(stems, manifest, root, cache, jobs):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = {pool.submit(build_one, stem, manifest, root, cache): stem for stem in stems}
        for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            problem = future.result()
            failed += problem is not None
            print(f"[{number}/{len(stems)}] {waiting[future]}{'' if problem is None else ': FAILED: ' + problem}",
                  flush=True)
    print(f"{len(stems) - failed} of {len(stems)} blobs are in {cache}")
    return failed


def clean(stems, cache):
    removed = 0
    for stem in stems:
        (cache / f"{stem}.json").unlink(missing_ok=True)  # first: an object without it is no entry
        removed += (cache / f"{stem}.so").exists()
        (cache / f"{stem}.so").unlink(missing_ok=True)
    print(f"{removed} blobs removed from {cache}")


def main():
    args = parse()
    manifest = Path(args.manifest or os.environ.get("CK_JIT_MANIFEST") or HERE / MANIFEST).absolute()
    cache = args.cache_dir or os.environ.get("CK_JIT_CACHE_DIR")
    if not cache:
        if hearth := installed_hearth():
            delegate(hearth, args, manifest)
        name = os.environ.get("CK_JIT_NAME") or "ck_jit"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name
    cache = Path(cache).expanduser().absolute()
    stems, unknown = named(args), []
    if not (stems or args.all or args.command == "list"):
        sys.exit("ck_jit_prebuild.py: name blobs, or give --blob-list FILE or --all")
    if args.command == "clean":
        clean([path.stem for path in cache.glob("*.so")] if args.all else stems, cache)
        return 0
    try:
        blobs = json.loads(manifest.read_text(encoding="utf-8"))["blobs"]
        known = [blob["stem"] for blob in blobs]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"ck_jit_prebuild.py: {manifest}: is no manifest: {error}")
    if args.all or not stems:
        stems = known
    unknown = sorted(set(stems) - set(known))
    stems = [stem for stem in stems if stem not in unknown]
    for stem in unknown:
        print(f"ck_jit_prebuild.py: {stem} is not in {manifest}", file=sys.stderr)
    failed = 0
    if args.command == "list":
        for stem in stems:
            there = (cache / f"{stem}.so").exists() and (cache / f"{stem}.json").exists()
            print(f"{stem}  {'cached' if there else 'not cached'}")
    else:
        failed = build(stems, manifest, root_of(args, manifest, blobs), cache, args.jobs)
    return 1 if failed or unknown else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(f"ck_jit_prebuild.py: {error}")
