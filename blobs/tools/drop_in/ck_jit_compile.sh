#!/bin/sh
# Compiles one blob with the hearth-blobc beside this file, unless it is cached.
#   ck_jit_compile.sh --blob-source PATH --blob-flags FLAGS --output CACHE/STEM.so     what is compiled is given
#   ck_jit_compile.sh --blob STEM [--output CACHE/STEM.so]                             it is looked up in the manifest
# Environment: CK_JIT_ROOT, CK_JIT_MANIFEST, CK_JIT_CACHE_DIR, CK_JIT_NAME. Prints the library's path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${CK_JIT_ROOT:-$here} blob='' source='' flags='' output=''
fail() { echo "ck_jit_compile.sh: $1" >&2; exit "$2"; }
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --blob | --blob-source | --blob-flags | --output) [ $# -ge 2 ] || fail "$1 needs a value" 2 ;;
    *) fail "unknown argument $1" 2 ;;
  esac
  case $1 in
    --blob) blob=$2 ;;
    --blob-source) source=$2 ;;
    --blob-flags) flags=$2 ;;
    --output) output=$2 ;;
  esac
  shift 2
done
[ -n "$blob$source" ] || fail "give --blob STEM, or --blob-source PATH with --blob-flags and --output" 2
[ -z "$source" ] || [ -n "$output" ] || fail "--blob-source needs --output" 2

if [ -n "$output" ]; then
  case $output in *.so) ;; *) fail "--output $output: must end in .so" 2 ;; esac
  cache=$(dirname "$output") stem=$(basename "$output" .so)
else
  name=${CK_JIT_NAME:-ck_jit} stem=$(basename "$blob" .cpp)
  cache=${CK_JIT_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?set HOME or CK_JIT_CACHE_DIR}/.cache}/$name}
fi
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
made=$stem  # what is compiled; a blob of the manifest has its own name
blobc=$here/hearth-blobc
[ -x "$blobc" ] || blobc=$(command -v hearth-blobc) || fail "hearth-blobc is neither beside this program nor on PATH" 1

if [ -n "$source" ]; then
  case $source in "$root"/*) source=${source#"$root"/} ;; /*) fail "--blob-source $source: is not below $root" 1 ;; esac
  toolchain=c++
  set -f  # flags are words, never patterns
  set -- --root "$root" --stem "$stem" --source "$source" --cache-dir "$cache"
  for word in $flags; do
    case $word in --offload-arch=*) toolchain=hip; set -- "$@" --arch "${word#--offload-arch=}" ;; esac
  done
  set -- "$@" --toolchain "$toolchain" --
  for word in $flags; do
    case $word in --offload-arch=*) ;; *) set -- "$@" "$word" ;; esac
  done
else
  made=$(basename "$blob" .cpp)
  set -- --manifest "${CK_JIT_MANIFEST:-$here/ck_jit_manifest.json}" --root "$root" --stem "$made" --cache-dir "$cache"
fi
if line=$("$blobc" "$@"); then
  if [ "$made" != "$stem" ]; then  # whole or not at all
    cp -f "$cache/$made.so" "$cache/.$stem.so.$$" && mv -f "$cache/.$stem.so.$$" "$cache/$stem.so" ||
      fail "$cache/$stem.so cannot be written" 1
  fi
  echo "$cache/$stem.so"
else
  fail "$(printf '%s\n' "$line" | sed -e 's/.*"message":"//' -e 's/"}$//' -e 's/\\n/\
/g' -e 's/\\"/"/g')" 1
fi
