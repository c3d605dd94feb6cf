#!/usr/bin/env bash
# Tests, each in the build that it says most in (tests/phases.cmake): release, AddressSanitizer with
# UndefinedBehaviorSanitizer, and the threaded parts under ThreadSanitizer.
# Does all its set-up (scripts/setup.sh). Ends with what was skipped and why, and ctest's own summary lines.
#
#   scripts/test.sh            what guards behaviour on a change: release, asan, tsan
#   scripts/test.sh all        that, and the long tier (CONTRIBUTING.md says what it protects)
#   scripts/test.sh release    one of: release asan tsan long
#   scripts/test.sh quick      the most telling part of the release tests, for while one works
#
# HEARTH_TEST_MODELS=DIR names a folder of models beyond those that the tests make (tests/models), HEARTH_TEST_SLOW=N
# lets tests wait N times as long before they give up, HEARTH_TEST_JOBS=N runs N tests at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh

jobs=${HEARTH_TEST_JOBS:-$(nproc)}
# One more than there are cores: tests wait for other processes a fifth of the time.
at_once=${HEARTH_TEST_JOBS:-$(($(nproc) + 1))}

export LC_ALL=C.UTF-8 CTEST_OUTPUT_ON_FAILURE=1
# A user's own daemon is none of the tests' business.
for name in $(compgen -e HEARTH_ || true); do
  case $name in HEARTH_TEST_MODELS | HEARTH_TEST_SLOW) ;; *) unset "$name" ;; esac
done
if [[ ${HEARTH_TEST_MODELS:-} ]]; then HEARTH_TEST_MODELS=$(realpath "$HEARTH_TEST_MODELS"); fi
# Objects are shared between clones and build trees of one machine.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
(($# > 0)) || set -- release asan tsan
phases=()
for phase in "$@"; do
  if [[ $phase == all ]]; then phases+=(release asan tsan long); else phases+=("$phase"); fi
done
# Test programs (a test is named after its program) for the ThreadSanitizer build: thread pool and replay, daemon,
# cache, client, blob loader; and whether ThreadSanitizer sees the code that gRPC calls.
threaded='^(runtime|daemon_core|daemon_service|cache|client|blob_loader|tsan_sees_handlers)_test$'
# Programs whose tests say most in least time: whole models against reference values, ops against numpy, passes
# against texts, and client, replay, daemon, cache, importer and command line each alone.
telling='^(integration|model_commands|numpy_conformance|passes_golden|rewrite|rules|onnx|trace|client|runtime|daemon_core|cache|cli|layering|documents)_test$'

started=$SECONDS
say() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }
configure() { [[ -f build/$1/build.ninja ]] || cmake --preset "$1"; }
# The Python package is built where its environment is, which may be newer than the build tree.
configure_python() {
  HEARTH_TEST_REPORT=build/release/test_reports/python_environment bash scripts/python.sh venv
  if [[ -d build/python/venv ]] && ! grep -qs '_hearth.abi3.so' build/release/build.ninja; then cmake --preset release; fi
}

test_names() { ctest --preset "$1" -N "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p'; }

# What a phase builds of a preset: all of the product, and the folders of its tests (tests/phases.cmake).
folders_of() {
  ninja -C "build/$2" -t targets all | sed -n 's/^\([a-z_/]*\/all\): phony$/\1/p' | grep -v '^tests/'
  sed 's|$|/all|' "build/$2/test_folders/$1.txt"
  echo made_models
}

build() { cmake --build --preset "$1" --parallel "$jobs" --target "${@:2}"; }

# run_tests PHASE PRESET ARGUMENTS OF CTEST...
run_tests() {
  say "$1: test"
  "${under[@]}" ctest --preset "$2" --parallel "$at_once" "${@:3}" | tee "build/$2/$1.log"
}
# Of the tests that a phase is about to run: what is said at its end is of this run.
forget_reports() { rm -f "build/$1"/test_reports/* "build/$1"/reports/*; }

release_phase() {
  say "release: build"
  configure release
  forget_reports release
  configure_python
  mapfile -t names < <(folders_of release release)
  build release "${names[@]}" package_contents
  run_tests release release -L '^release$'
}

# Where the release phase ran before, its reports stay.
long_phase() {
  say "long: build"
  configure release
  configure_python
  mapfile -t names < <(folders_of long release)
  build release "${names[@]}" package_contents tests/bench/all
  HEARTH_TEST_LONG=1 run_tests long release -L '^long$'
  HEARTH_TEST_REPORT=build/release/test_reports/python_wheel bash scripts/python.sh wheel
}

quick_phase() {
  say "quick: build"
  configure release
  configure_python
  mapfile -t names < <(test_names release -R "$telling" | grep -vE '^(layering_test|documents_test|numpy_cases)$')
  build release "${names[@]}" bin/hearth bin/hearthd
  forget_reports release
  run_tests quick release -R "$telling"
}

asan_phase() {
  say "asan: build"
  configure asan
  mapfile -t names < <(folders_of asan asan | grep -vE '^(examples|python)/')
  build asan "${names[@]}"
  forget_reports asan
  run_tests asan asan -L '^asan$'
}

tsan_phase() {
  say "tsan: build"
  configure tsan
  mapfile -t names < <(test_names tsan -R "$threaded")
  if ((${#names[@]} == 0)); then
    echo "tsan: no test matches $threaded" >&2
    return 1
  fi
  # Its shadow memory does not fit every address-space layout.
  if setarch -R true 2>/dev/null; then under=(setarch -R); fi
  build tsan "${names[@]}"
  forget_reports tsan
  run_tests tsan tsan -R "$threaded"
}

declare -A preset_of=([release]=release [quick]=release [long]=release [asan]=asan [tsan]=tsan)
failed=() under=()
for phase in "${phases[@]}"; do
  if [[ ! ${preset_of[$phase]:-} ]]; then echo "test.sh: unknown phase '$phase'; use release, asan, tsan, long, quick or all" >&2; exit 2; fi
done
for phase in "${phases[@]}"; do
  preset=${preset_of[$phase]}
  rm -f "build/$preset/$phase.log"
  # Not `${phase}_phase || ...`: that would switch off errexit inside.
  set +e
  (set -e; "${phase}_phase")
  status=$?
  set -e
  ((status == 0)) || failed+=("$phase")
done

say "summary"
summary() {
  grep -h '% tests passed' "build/${preset_of[$1]}/$1.log" 2>/dev/null || echo "no test ran"
}
for preset in $(for phase in "${phases[@]}"; do echo "${preset_of[$phase]}"; done | sort -u); do
  /usr/bin/python3 tests/support/run_report.py "$preset" "build/$preset/test_reports"
  cat "build/$preset"/reports/*.txt 2>/dev/null || true  # what was proved of rules and bounds
done
for phase in "${phases[@]}"; do
  echo "$phase: $(summary "$phase")"
done
last=${failed[0]:-${phases[0]}}
((${#failed[@]} == 0)) || echo "FAILED: ${failed[*]}"
summary "$last"
((${#failed[@]} == 0))
