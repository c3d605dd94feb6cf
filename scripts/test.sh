#!/usr/bin/env bash
# Every test, in the build that it says most in (tests/phases.cmake): release, AddressSanitizer with
# UndefinedBehaviorSanitizer, and the threaded parts under ThreadSanitizer.
# Does all its set-up (scripts/setup.sh). Ends with what was skipped and why, and ctest's own summary lines.
#
#   scripts/test.sh            everything
#   scripts/test.sh release    one of: release asan tsan
#   scripts/test.sh quick      the most telling part of the release tests, for while one works
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh

jobs=${HEARTH_TEST_JOBS:-$(nproc)}

export LC_ALL=C.UTF-8 CTEST_OUTPUT_ON_FAILURE=1
for name in $(compgen -e HEARTH_ || true); do unset "$name"; done  # a user's own daemon is none of the tests' business
# Objects are shared between clones and build trees of one machine.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
phases=("$@")
(($# > 0)) || phases=(release asan tsan)
# Test programs (a test is named after its program) for the ThreadSanitizer build: thread pool and replay, daemon,
# cache, client, blob loader; and whether ThreadSanitizer sees the code that gRPC calls.
threaded='^(runtime|daemon_core|daemon_service|cache|client|blob_loader|tsan_sees_handlers)_test$'
# Programs whose tests say most in least time: whole models against ONNX Runtime's values, ops against numpy, passes
# against texts, and client, replay, daemon, cache, importer and command line each alone.
telling='^(integration|model_commands|numpy_conformance|passes_golden|rewrite|rules|onnx|trace|client|runtime|daemon_core|cache|cli|layering|documents)_test$'

started=$SECONDS
say() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }
configure() { [[ -f build/$1/build.ninja ]] || cmake --preset "$1"; }
# The Python package is built where its environment is, which may be newer than the build tree.
configure_python() {
  bash scripts/python.sh venv
  if [[ -d build/python/venv ]] && ! grep -qs '_hearth.abi3.so' build/release/build.ninja; then cmake --preset release; fi
}

test_names() { ctest --preset "$1" -N "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p'; }

# What a phase builds: all of the product, and the folders of its tests (tests/phases.cmake).
folders_of() {
  ninja -C "build/$1" -t targets all | sed -n 's/^\([a-z_/]*\/all\): phony$/\1/p' | grep -v '^tests/'
  sed 's|$|/all|' "build/$1/test_folders/$1.txt"
}

build() { cmake --build --preset "$1" --parallel "$jobs" --target "${@:2}"; }

# run_tests PHASE PRESET ARGUMENTS OF CTEST... Those under sanitizers wait for other processes much of the time.
run_tests() {
  local at_once=$jobs
  [[ $2 == release ]] || at_once=$((jobs + 1))
  say "$1: test"
  "${under[@]}" ctest --preset "$2" --parallel "$at_once" "${@:3}" | tee "build/$2/$1.log"
}
forget_reports() { rm -f "build/$1"/test_reports/* "build/$1"/reports/*; }

release_phase() {
  say "release: build"
  configure release
  configure_python
  mapfile -t names < <(folders_of release)
  build release "${names[@]}" package_contents
  forget_reports release
  run_tests release release -L '^release$'
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
  mapfile -t names < <(folders_of asan | grep -v '^python/')
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

declare -A preset_of=([release]=release [quick]=release [asan]=asan [tsan]=tsan)
failed=() under=()
for phase in "${phases[@]}"; do
  if [[ ! ${preset_of[$phase]:-} ]]; then echo "test.sh: unknown phase '$phase'; use release, asan, tsan or quick" >&2; exit 2; fi
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
for preset in $(printf '%s\n' "${phases[@]}" | sed 's/quick/release/' | sort -u); do
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
