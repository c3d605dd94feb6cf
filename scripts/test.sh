#!/usr/bin/env bash
# Every test: release, AddressSanitizer + UndefinedBehaviorSanitizer, and the threaded parts under ThreadSanitizer.
# Does all its set-up (scripts/setup.sh). Ends with what was skipped and why, and ctest's own summary lines.
#
#   scripts/test.sh            everything
#   scripts/test.sh release    one of: release asan tsan
#   scripts/test.sh quick      the most telling part of the release tests, for while one works
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh

export LC_ALL=C.UTF-8 CTEST_OUTPUT_ON_FAILURE=1
for name in $(compgen -e HEARTH_ || true); do unset "$name"; done  # a user's own daemon is none of the tests' business
# Objects are shared between clones and build trees of one machine.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
jobs=${HEARTH_TEST_JOBS:-$(nproc)}
phases=("${@:-release}")
(($# > 0)) || phases=(release asan tsan)
# Test programs (a test is named after its program) for the ThreadSanitizer build: thread pool and replay, daemon,
# cache, client, blob loader; and whether ThreadSanitizer sees the code that gRPC calls.
threaded='^(runtime|daemon_core|daemon_service|cache|client|blob_loader|tsan_sees_handlers)_test$'
# Tests that run hardly any code of ours, so that the sanitizers' build would only repeat them: Z3 proves rules, and
# compilers build the sample library and its device code; or that lower models only to judge what comes out.
unsanitized='^(net_kernels_test|spirv_modules_test|rules_proof_test(_[a-z0-9]+)?|blob_sample_test|blob_hip_stand_in_test|blob_code_object_test)$'

# Programs whose tests say most in least time: whole models against ONNX Runtime's values, ops against numpy, passes
# against texts, and client, replay, daemon, cache, importer and command line each alone.
telling='^(integration|model_commands|numpy_conformance|passes_golden|rewrite|rules|onnx|trace|client|runtime|daemon_core|cache|cli|layering|documents)_test$'

# Machines differ by more than two. After so many seconds of release phase, AddressSanitizer's leaves out the tests that
# compare compiled kernels with other implementations (label conformance): most of what they run is generated code,
# which has no sanitizer. After so many in all, ThreadSanitizer's phase is left out. The summary counts both.
slow_release_s=1980
latest_tsan_s=4200

started=$SECONDS
say() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }
configure() { [[ -f build/$1/build.ninja ]] || cmake --preset "$1"; }
# The Python package is built where its environment is, which may be newer than the build tree.
configure_python() {
  bash scripts/python.sh venv
  if [[ -d build/python/venv ]] && ! grep -qs '_hearth.abi3.so' build/release/build.ninja; then cmake --preset release; fi
}

# leave_out PHASE REASON TEST...: counted by the summary as skipped.
leave_out() {
  local phase=$1 reason=$2 name
  shift 2
  (($# > 0)) || return 0
  mkdir -p "build/$phase/test_reports"
  for name in "$@"; do printf 'skip\tthe whole test\t%s\n' "$reason" >> "build/$phase/test_reports/$name"; done
}

test_names() { ctest --preset "$1" -N "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p'; }

# Every folder of the build but the benchmarks' and, with $2, the conformance tests'.
folders_of() {
  ninja -C "build/$1" -t targets all | sed -n 's/^\([a-z_/]*\/all\): phony$/\1/p' |
    grep -vE "^(tests|tests/bench.*)/all$" | { if [[ ${2:-} ]]; then grep -vE '^tests/(conformance/|digests/)'; else cat; fi; }
}

run_phase() {
  local phase=$1 preset=$1 targets=() select=() run=() left_out=()
  say "$phase: build"
  configure "${phase/quick/release}"
  if [[ $phase == release ]]; then configure_python; fi
  if [[ $phase == tsan ]]; then
    mapfile -t targets < <(test_names tsan -R "$threaded")
    if ((${#targets[@]} == 0)); then
      echo "tsan: no test matches $threaded" >&2
      return 1
    fi
    select=(-R "$threaded")
    # Its shadow memory does not fit every address-space layout.
    if setarch -R true 2>/dev/null; then run=(setarch -R); fi
    cmake --build --preset tsan --parallel "$jobs" --target "${targets[@]}"
  elif [[ $phase == quick ]]; then
    mapfile -t targets < <(test_names release -R "$telling" | grep -vE '^(layering_test|documents_test|numpy_cases)$')
    select=(-R "$telling")
    preset=release
    cmake --build --preset release --parallel "$jobs" --target "${targets[@]}" bin/hearth bin/hearthd
  else
    if [[ $phase == asan ]]; then
      select=(-E "$unsanitized")
      echo "asan: without $unsanitized, which run in the release phase and would only repeat it"
      if ((SECONDS - started > slow_release_s)); then
        mapfile -t left_out < <(test_names asan -L conformance "${select[@]}")
        select+=(-LE conformance)
        echo "asan: a slow machine, so also without ${left_out[*]}"
      fi
      mapfile -t targets < <(folders_of asan "${left_out[*]}")
      cmake --build --preset asan --parallel "$jobs" --target "${targets[@]}"
    else
      cmake --build --preset "$phase" --parallel "$jobs"
    fi
  fi
  say "$phase: test"
  rm -f "build/$preset"/test_reports/* "build/$preset"/reports/*
  leave_out "$phase" "left out on a slow machine; it ran in the release phase" "${left_out[@]}"
  "${run[@]}" ctest --preset "$preset" --parallel "$jobs" "${select[@]}" | tee "build/$preset/ctest.log"
  if [[ $phase == release ]]; then HEARTH_TEST_REPORT=build/release/test_reports/python_wheel bash scripts/python.sh wheel; fi
}

failed=() not_run=()
for phase in "${phases[@]}"; do
  case $phase in release | asan | tsan | quick) ;; *) echo "test.sh: unknown phase '$phase'; use release, asan, tsan or quick" >&2; exit 2 ;; esac
  rm -f "build/${phase/quick/release}/ctest.log"
  if [[ $phase == tsan ]] && ((SECONDS - started > latest_tsan_s)); then
    configure tsan > /dev/null
    mapfile -t names < <(test_names tsan -R "$threaded")
    rm -f build/tsan/test_reports/*
    leave_out tsan "left out on a slow machine: the phases before took $((SECONDS - started)) s" "${names[@]}"
    not_run+=(tsan)
    continue
  fi
  # Not `run_phase || ...`: that would switch off errexit inside.
  set +e
  (set -e; run_phase "$phase")
  status=$?
  set -e
  ((status == 0)) || failed+=("$phase")
done

say "summary"
summary() {
  if [[ " ${not_run[*]} " == *" $1 "* ]]; then
    echo "left out on a slow machine; scripts/test.sh $1 runs it"
    return
  fi
  grep -h '% tests passed' "build/${1/quick/release}/ctest.log" 2>/dev/null || echo "no test ran: the build failed"
}
for phase in "${phases[@]}"; do
  /usr/bin/python3 tests/support/run_report.py "$phase" "build/${phase/quick/release}/test_reports"
done
for phase in "${phases[@]}"; do  # what was proved of rules and bounds
  cat "build/${phase/quick/release}"/reports/*.txt 2>/dev/null || true
done
for phase in "${phases[@]}"; do
  echo "$phase: $(summary "$phase")"
done
last=${failed[0]:-${phases[0]}}
((${#failed[@]} == 0)) || echo "FAILED: ${failed[*]}"
summary "$last"
((${#failed[@]} == 0))
