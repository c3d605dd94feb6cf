#!/usr/bin/env python3
"""Compiles blobs ahead of use: list, build, clean and cache.

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
                       ("clean", "remove cached blobs"), ("cache", "what is cached, with sizes")):
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        command.add_argument("--manifest", help="default: CK_JIT_MANIFEST, else the one beside this file")
        command.add_argument("--cache-dir", help="default: CK_JIT_CACHE_DIR")
        if name == "cache":
            continue
        command.add_argument("blobs", nargs="*", help="stems, file names, source paths or cached .so paths")
        command.add_argument("--blob", action="append", default=[], help="one more of them; may be repeated")
        command.add_argument("--blob-list", action="append", default=[], help="file with one blob a line; - is standard input")
        command.add_argument("--root", help="folder of the sources; default: CK_JIT_ROOT, else the manifest's")
        command.add_argument("--all", action="store_true", help="every blob")
        command.add_argument("-j", "--jobs", type=jobs_of, default=max(1, os.cpu_count() or 1), help="blobs at once")
        if name in ("list", "build"):
            command.add_argument("--arch", action="append", default=[], type=archs_of,
                                 help="only blobs of this GPU architecture; may be repeated, or hold several with , or ; between")
        if name == "build":
            command.add_argument("--force", action="store_true", help="compile what is cached, too")
    args = parser.parse_args()
    args.blobs = getattr(args, "blobs", []) + getattr(args, "blob", [])
    args.arch = [arch for archs in getattr(args, "arch", []) for arch in archs]
    return args


def archs_of(text):
    archs = [arch.strip() for arch in text.replace(";", ",").split(",") if arch.strip()]
    if not archs:
        raise argparse.ArgumentTypeError("expected an architecture such as gfx942")
    return archs


def jobs_of(text):
    jobs = int(text) if text.isdigit() else 0
    if jobs < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of blobs; expected 1 or more")
    return jobs


def stem_of(name):
    base = os.path.basename(name)
    for ending in (".cpp", ".cu", ".hip", ".so", ".o"):
        base = base.removesuffix(ending)
    return base


def named(args):
    names = list(args.blobs)
    for path in getattr(args, "blob_list", []):
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        names += [line.split("#")[0].strip() for line in text.splitlines()]
    return list(dict.fromkeys(stem_of(name) for name in names if name))


def installed_hearth():
    """hearth on PATH, or None. Relative folders of PATH are of the current folder, which may be anybody's."""
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    return shutil.which("hearth", path=os.pathsep.join(folders)) if folders else None


def delegate(hearth, args, manifest, stems):
    """The same by the daemon's cache."""
    prewarm = [hearth, "blobs", "prewarm"]
    of_manifest = ["--manifest", str(manifest)]
    if args.command == "cache":
        done = subprocess.run([*prewarm, "list", "--json", *of_manifest, *stems], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        answer = json.loads(done.stdout)
        cached = [blob["stem"] for blob in answer["blobs"] if blob["state"] == "cached"]
        return show_cache(answer["place"], cached)
    if getattr(args, "force", False):
        done = subprocess.run([*prewarm, "clean", *of_manifest, *stems], stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
    command = [*prewarm, args.command, *of_manifest, *stems]
    command += ["--root", args.root] if args.root else []
    command += ["--all"] if args.all and not stems else []
    command += ["--jobs", str(args.jobs)] if args.command == "build" else []
    os.execv(command[0], command)


def show_cache(place, entries):
    """`entries`: lines. Programs look for the first word, and compare two of these texts."""
    print(f"Cache: {place}  ({len(entries)} entries)")
    for entry in entries:
        print(f"  {entry}")
    return 0


def blobc():
    """The compiler beside this file, in an installation; else Hearth's own."""
    if (HERE / "hearth-blobc").exists():
        return HERE / "hearth-blobc"
    return shutil.which("hearth-blobc", path=os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))) or HERE / "hearth-blobc"


def build_one(stem, manifest, root, cache):
    done = subprocess.run([blobc(), "--manifest", manifest, "--root", root, "--stem", stem, "--cache-dir",
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


def remove(stems, cache):
    removed = 0
    for stem in stems:
        (cache / f"{stem}.json").unlink(missing_ok=True)  # first: an object without it is no entry
        removed += (cache / f"{stem}.so").exists()
        (cache / f"{stem}.so").unlink(missing_ok=True)
    return removed


def of_archs(stems, blobs, archs, manifest, is_all):
    """Those of `archs`; a name that was given and is of another one is left out with a line."""
    there = {arch for blob in blobs for arch in blob.get("archs", [])}
    for arch in archs:
        if arch not in there:
            known = ", ".join(sorted(there)) or "of no architecture"
            sys.exit(f"ck_jit_prebuild.py: {manifest} has no blob for {arch}; its blobs are {'for ' if there else ''}{known}")
    of = {blob["stem"]: set(blob.get("archs", [])) for blob in blobs}
    kept = [stem for stem in stems if stem not in of or of[stem] & set(archs)]
    if len(kept) < len(stems) and not is_all:
        print(f"ck_jit_prebuild.py: {len(stems) - len(kept)} blobs are not for {', '.join(archs)}: left out", file=sys.stderr)
    return kept


def read_manifest(path):
    try:
        blobs = json.loads(path.read_text(encoding="utf-8"))["blobs"]
        for blob in blobs:
            blob["stem"].encode()
        return blobs
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"ck_jit_prebuild.py: {path}: is no manifest: {error}")


def main():
    args = parse()
    manifest = Path(args.manifest or os.environ.get("CK_JIT_MANIFEST") or HERE / MANIFEST).absolute()
    cache = args.cache_dir or os.environ.get("CK_JIT_CACHE_DIR")
    hearth = None if cache else installed_hearth()
    if not cache:
        name = os.environ.get("CK_JIT_NAME") or "ck_jit"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name
    cache = Path(cache).expanduser().absolute()
    is_all = getattr(args, "all", False) or args.command == "cache"
    stems = named(args)
    if not (stems or is_all or args.command == "list"):
        sys.exit("ck_jit_prebuild.py: name blobs, or give --blob-list FILE or --all")
    if args.command in ("clean", "cache") and not hearth:  # of the folder, whatever the manifest has
        there = sorted(path.stem for path in cache.glob("*.so"))
        if args.command == "cache":
            return show_cache(cache, [f"{stem}.so  ({(cache / f'{stem}.so').stat().st_size} bytes)" for stem in there])
        print(f"{remove(there if is_all else stems, cache)} blobs removed from {cache}")
        return 0
    blobs = read_manifest(manifest)
    known = [blob["stem"] for blob in blobs]
    is_selection = bool(stems or args.arch)
    stems = known if is_all or not stems else stems
    if args.arch:
        stems = of_archs(stems, blobs, args.arch, manifest, is_all)
    if is_selection and not stems:
        print("ck_jit_prebuild.py: no blob is left", file=sys.stderr)
        return 0
    if hearth:
        return delegate(hearth, args, manifest, stems if is_selection or getattr(args, "force", False) else [])
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
        if args.force:
            remove(stems, cache)
        failed = build(stems, manifest, root_of(args, manifest, blobs), cache, args.jobs)
    return 1 if failed or unknown else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(f"ck_jit_prebuild.py: {error}")
