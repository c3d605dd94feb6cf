#!/usr/bin/env bash
# Links the lazy attention libraries of a ComposableKernel checkout that you have, and says what that took: the
# checkout's own generator writes blobs and dispatchers, `hearth blobs intercept` does the rest. No GPU is needed.
#   scripts/ck_real.sh CHECKOUT [--arch gfx942] [--receipt N] [--compile N] [--keep DIR]
# --receipt    the generator's receipt for bwd (default: the generator's own default, the largest set)
# --compile N  compile N blobs of each library afterwards through a daemon of its own (20 to 60 s and 0.7 GB each)
# --keep DIR   work in DIR and keep it; otherwise a temporary folder, removed at the end
# Needs the release build, Debian's HIP packages (`hearth blobs doctor`) and python3. Exits 77 without a checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${HEARTH_BIN_DIR:-$PWD/build/release/bin}
arch=gfx942 receipt='' compile=0 keep='' checkout=${CK_CHECKOUT:-}
usage() { sed -n '4,8s/^# \{0,1\}//p' "$0"; }
while (($#)); do
  case $1 in
    --arch) arch=${2:?--arch needs a GPU architecture}; shift 2 ;;
    --receipt) receipt=${2:?--receipt needs a number}; shift 2 ;;
    --compile) compile=${2:?--compile needs a number}; shift 2 ;;
    --keep) keep=${2:?--keep needs a folder}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "ck_real: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) checkout=$1; shift ;;
  esac
done
if [[ -z $checkout ]]; then
  echo "ck_real: skipped: no checkout (give the folder of a ComposableKernel checkout, or set CK_CHECKOUT)"
  exit 77
fi
[[ $compile =~ ^[0-9]+$ ]] || { echo "ck_real: --compile $compile: is not a number" >&2; exit 2; }
example=example/ck_tile/01_fmha
if [[ ! -f $checkout/$example/generate.py ]]; then
  echo "ck_real: $checkout/$example/generate.py: there is no such file; name a ComposableKernel checkout" >&2
  exit 1
fi
checkout=$(cd "$checkout" && pwd)
for program in hearth hearth-hipcc hearth-blobc; do
  [[ -x $bin/$program ]] || { echo "ck_real: $bin/$program: is not built" >&2; exit 1; }
done

if [[ -n $keep ]]; then
  mkdir -p "$keep"
  work=$(cd "$keep" && pwd)
  rm -rf "$work/root" "$work"/libmha_{fwd,bwd}
else
  work=$(mktemp -d "${TMPDIR:-/tmp}/hearth-ck-real.XXXXXX")
fi
hearth() { env HEARTH_SOCKET="$work/hearthd.sock" HEARTH_CACHE_DIR="$work/cache" "$bin/hearth" "$@"; }
cleanup() {
  [[ ! -S $work/hearthd.sock ]] || hearth daemon stop >/dev/null 2>&1 || true
  [[ -n $keep ]] || rm -rf "$work"
}
trap cleanup EXIT

# Sources and headers below one root, as the checkout and our folder for generated files.
mkdir -p "$work/root/blob"
ln -s "$checkout" "$work/root/ck"

generate() {  # $1: library; further: apis
  local library=$1 api before
  shift
  mkdir -p "$work/root/blob/$library"
  for api; do
    before=$(find "$work/root/blob/$library" -name '*_api.cpp' | wc -l)
    local args=(--direction "$api" --output_dir "$work/root/blob/$library")
    [[ $api != bwd || -z $receipt ]] || args+=(--receipt "$receipt")
    PYTHONDONTWRITEBYTECODE=1 python3 "$checkout/$example/generate.py" "${args[@]}"
    (($(find "$work/root/blob/$library" -name '*_api.cpp' | wc -l) > before)) ||
      { echo "ck_real: the generator wrote no dispatcher for $api" >&2; exit 1; }
  done
}

record_and_link() {  # $1: library
  local blobs=$work/root/blob/$1 objects=$work/$1/obj
  mkdir -p "$objects"
  (cd "$blobs" && ls -- *.cpp) | sed 's/\.cpp$//' >"$work/$1/stems"
  sed "s,.*,$objects/&.o," "$work/$1/stems" >"$work/$1/objects"
  cat >"$work/$1/build.sh" <<BUILD
set -e
xargs -P "$(nproc)" -I{} hipcc -c "$blobs/{}.cpp" -o "$objects/{}.o" -fPIC -std=c++17 -O3 -fvisibility=hidden \
  -I"$work/root/ck/include" -I"$work/root/ck/$example" --offload-arch=$arch <"$work/$1/stems"
hipcc -shared "@$work/$1/objects" -o "$work/$1/$1.so"
BUILD
  hearth blobs intercept --tmp-dir "$work/$1" --aiter-dir "$work/root" -- bash "$work/$1/build.sh"
}

TIMEFORMAT='%R s wall, %U s processor'
measured() {  # $1: what; further: a command. Its output stays on the terminal, its time is kept for the summary.
  local what=$1
  shift
  { time "$@" 1>&3 2>&4; } 2>"$work/time"  # in this shell, and not behind ||: a failure ends the script
  summary+=("$what: $(cat "$work/time")")
}
exec 3>&1 4>&2
summary=()
apis=(fwd)
for file in "$checkout/$example"/codegen/ops/fmha_*.py; do
  name=$(basename "$file" .py)
  case $name in fmha_fwd_splitkv | fmha_fwd_appendkv | fmha_batch_prefill | fmha_pagedkv_prefill) apis+=("${name#fmha_}") ;; esac
done
echo "ck_real: generating ${apis[*]} and bwd of $(git -C "$checkout" log -1 --format='%h of %as' 2>/dev/null || echo "$checkout")"
measured "generate libmha_fwd (${apis[*]})" generate libmha_fwd "${apis[@]}"
measured "generate libmha_bwd (receipt ${receipt:-of the generator})" generate libmha_bwd bwd
for library in libmha_fwd libmha_bwd; do
  echo "ck_real: recording and linking $library, $(find "$work/root/blob/$library" -name "*.cpp" | wc -l) files"
  measured "record and link $library" record_and_link "$library"
done
for library in libmha_fwd libmha_bwd; do
  ((compile > 0)) || break
  mapfile -t some < <(grep -v _api "$work/$library/stems" | awk -v n="$compile" -v all="$(wc -l <"$work/$library/stems")" \
    'NR % int(all / n) == 1' | head -n "$compile")
  measured "compile ${#some[@]} blobs of $library for $arch through the daemon" \
    hearth blobs prewarm build --manifest "$work/$library/$library/ck_jit_manifest.json" \
    --daemon "${some[@]}"
done

echo
for library in libmha_fwd libmha_bwd; do
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["text"])' "$work/$library/$library/post_build.json"
done
printf '%s\n' "${summary[@]}"
