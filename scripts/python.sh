#!/usr/bin/env bash
# The Python package. Its environment (build/python/venv) holds what python/requirements.txt pins: build tools, and what
# the tests compare with. Its wheels (build/wheels: the client, and the daemon's programs) are made of a release build,
# repaired by auditwheel, installed into an environment of their own and tested there. Where no package index answers, it says what is skipped and ends well.
#
#   scripts/python.sh            all of it
#   scripts/python.sh venv       only the environment; a build made after it has the package
#   scripts/python.sh wheel      only the wheels and their test
#   scripts/python.sh silero     only the package that carries Silero VAD's models
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/build/python/venv wheels=$root/build/wheels build=${HEARTH_BUILD:-$root/build/release}
report=${HEARTH_TEST_REPORT:-}

skip() {
  echo "python.sh: SKIPPED: $1: $2"
  [[ -z $report ]] || printf 'skip\t%s\t%s\n' "$1" "$2" >> "$report"
}

# Debian's pip in the environment; the index is the user's configuration's.
pip() { "$1/bin/python" -m pip --disable-pip-version-check --quiet "${@:2}"; }

# Silero VAD's models, which the tests unpack (tests/models): the file alone, without what it needs.
take_silero() {
  local pinned
  pinned=$(grep '^silero-vad' python/requirements.txt)
  if compgen -G "build/python/models/silero_vad-${pinned#*==}-*.whl" > /dev/null; then return; fi
  /usr/bin/python3 -m venv build/python/download > /dev/null &&
    pip build/python/download download --timeout 15 --retries 1 --no-deps --only-binary :all: -d build/python/models "$pinned" \
    2> build/python/silero.log || skip "Silero VAD's models" "no package index has $pinned (build/python/silero.log)"
}

# torch by itself: some tests are all that lacks without it. Only a build for the processor: the usual one brings
# gigabytes of CUDA, which its size and its needs tell.
take_torch() {
  local pinned folder=build/python/torch log=build/python/torch.log pid reason
  pinned=$(grep '^torch=' python/requirements.txt)
  reason="no package index has $pinned (build/python/torch.log)"
  rm -rf "$folder" && mkdir -p "$folder"
  "$venv/bin/python" -m pip --disable-pip-version-check download --timeout 15 --retries 1 --no-deps --only-binary :all: \
    --progress-bar off -d "$folder" "$pinned" > "$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2> /dev/null; do
    if grep -qE 'Downloading torch.*\(([5-9][0-9]{2}|[0-9]{4,})(\.[0-9]+)? MB\)' "$log"; then
      kill "$pid"
      reason="$pinned of the package index is a build for CUDA: $(grep -oE '\([0-9.]+ MB\)' "$log" | head -1)"
    fi
    sleep 0.2
  done
  if wait "$pid"; then
    if "$venv/bin/python" -c 'import sys, zipfile; file = zipfile.ZipFile(sys.argv[1])
print(file.read(next(n for n in file.namelist() if n.endswith(".dist-info/METADATA"))).decode())' "$folder"/torch-*.whl |
      grep -qiE '^Requires-Dist: *(nvidia|cuda)'; then
      reason="$pinned of the package index needs CUDA's packages"
    elif pip "$venv" install --timeout 15 --retries 1 "$folder"/torch-*.whl 2>> build/python/pip.log; then
      rm -rf "$folder"
      take_transformers
      return
    fi
  fi
  skip "torch's arrays" "$reason"
}

# The models of torch that tests compile, from their configurations: some tests are all that lacks without it.
take_transformers() {
  local pinned
  pinned=$(grep '^transformers' python/requirements.txt)
  pip "$venv" install --timeout 15 --retries 1 --only-binary :all: "$pinned" 2>> build/python/pip.log ||
    skip "transformers' models" "no package index has $pinned (build/python/pip.log)"
}

make_venv() {
  local pinned
  pinned=$(sha256sum < python/requirements.txt)
  if [[ -f $venv/pinned && $(< "$venv/pinned") == "$pinned" ]]; then return; fi
  rm -rf "$venv"
  if ! /usr/bin/python3 -m venv "$venv" > /dev/null; then
    skip "the Python package" "python3-venv is not installed"
    return 1
  fi
  if ! pip "$venv" install --timeout 15 --retries 1 -r <(grep -vE '^(torch|transformers|silero-vad)' python/requirements.txt) 2> build/python/pip.log; then
    rm -rf "$venv"
    skip "the Python package" "no package index answers (build/python/pip.log)"
    return 1
  fi
  take_torch
  echo "$pinned" > "$venv/pinned"
}

# wheel FOLDER SETTING...: a raw wheel, then a repaired one in $wheels. "-C" is newer than Debian's pip.
wheel() {
  local folder=$1 raw=$root/build/python/raw settings=() setting
  for setting in "${@:2}"; do settings+=(--config-settings "$setting"); done
  rm -rf "$raw"
  PATH=$venv/bin:$PATH pip "$venv" wheel "./$folder" --no-deps --no-build-isolation -w "$raw" "${settings[@]}"
  PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --plat "$platform" -w "$wheels" "$raw"/*.whl > build/python/auditwheel.log 2>&1 ||
    { cat build/python/auditwheel.log >&2; return 1; }
}

make_wheels() {
  local fresh=$root/build/python/fresh platform
  if [[ ! -x $venv/bin/auditwheel || ! -e $build/python/hearth/_hearth.abi3.so ]]; then
    skip "the wheels" "there is no Python package: scripts/python.sh venv, then build"
    return
  fi
  rm -rf "$fresh"
  mkdir -p "$wheels"
  rm -f "$wheels"/hearth_compiler*.whl
  echo "python.sh: wheels"
  platform=manylinux_2_34_x86_64
  wheel python cmake.define.HEARTH_ONLY=python "cmake.define.HEARTH_PREBUILT=$build" "build-dir=$root/build/python/client"
  cmake --build "$build" --target hearth-worker-static hearthd hearth_program > build/python/programs.log
  platform=manylinux_2_35_x86_64
  wheel python/daemon "cmake.define.HEARTH_PREBUILT=$build" "build-dir=$root/build/python/daemon"
  /usr/bin/python3 python/add_licences.py "$wheels"/hearth_compiler-*.whl
  /usr/bin/python3 python/add_licences.py "$wheels"/hearth_compiler_daemon-*.whl libllvm19
  "$venv/bin/auditwheel" show "$wheels"/hearth_compiler-*.whl | grep -o 'manylinux_[0-9_x]*' | sort -u | head -1
  "$venv/bin/abi3audit" "$wheels"/hearth_compiler-*.whl
  # What they need, and numpy for the test, as files: the installation asks no index.
  pip "$venv" download -d "$wheels" --only-binary :all: --no-deps \
    "$(grep '^nanobind-backend' python/requirements.txt)" "$(grep '^numpy' python/requirements.txt)"
  /usr/bin/python3 -m venv "$fresh"
  pip "$fresh" install --no-index --find-links "$wheels" hearth-compiler hearth-compiler-daemon numpy
  echo "python.sh: test of the wheels"
  (cd / && env -i PATH=/usr/bin:/bin HOME="$root/build/python" HEARTH_TEST_MODELS="${HEARTH_TEST_MODELS:-}" \
    HEARTH_MADE_MODELS="$build/test_models" "$fresh/bin/python" -B "$root/tests/python/wheel_test.py")
}

mkdir -p build/python
case ${1:-all} in
  venv) if make_venv; then take_silero; fi ;;
  wheel) make_wheels ;;
  silero) take_silero ;;
  all) if make_venv; then take_silero; make_wheels; fi ;;
  *) echo "python.sh: unknown word '$1'; use venv, wheel or silero" >&2; exit 2 ;;
esac
