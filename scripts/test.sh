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

jobs=${HEARTH_TEST_JOBS:-$(nproc)}
# Machines differ by more than two. All is to end within so many seconds: later parts run what is expected to fit, by how
# long the release phase took. The summary counts what that leaves out.
budget_s=${HEARTH_TEST_BUDGET_S:-4800}

export LC_ALL=C.UTF-8 CTEST_OUTPUT_ON_FAILURE=1
for name in $(compgen -e HEARTH_ || true); do unset "$name"; done  # a user's own daemon is none of the tests' business
# Objects are shared between clones and build trees of one machine.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
phases=("$@")
(($# > 0)) || phases=(release asan tsan rest)  # asan then runs the most telling part, and rest as many as there is time for
# Test programs (a test is named after its program) for the ThreadSanitizer build: thread pool and replay, daemon,
# cache, client, blob loader; and whether ThreadSanitizer sees the code that gRPC calls.
threaded='^(runtime|daemon_core|daemon_service|cache|client|blob_loader|tsan_sees_handlers)_test$'
# Tests that run hardly any code of ours, so that the sanitizers' build would only repeat them: Z3 proves rules, and
# compilers build the sample library and its device code; or that lower models only to judge what comes out.
unsanitized='^(net_kernels_test|spirv_modules_test|rules_proof_test(_[a-z0-9]+)?|blob_sample_test|blob_hip_stand_in_test|blob_code_object_test)$'

# Programs whose tests say most in least time: whole models against ONNX Runtime's values, ops against numpy, passes
# against texts, and client, replay, daemon, cache, importer and command line each alone.
telling='^(integration|model_commands|numpy_conformance|passes_golden|rewrite|rules|onnx|trace|client|runtime|daemon_core|cache|cli|layering|documents)_test$'

# What AddressSanitizer says most of: what reads bytes of others, hands memory between threads and processes, or compiles
# in its own process. Whole models, terminals, packages and the tests labelled conformance (most of what those run is
# generated code, which has no sanitizer) come after ThreadSanitizer's, in phase "rest".
hardened='^(.*_fuzz|hijacked_worker_test|sandbox_test|passes_golden_test|c_abi_test|python_.*_test|blob_(loader|build|service)_test|choose_blobs_test|cache_test|cli_test|trace_test|client_test|client_values_test|codegen_test|command_line_parts_test|daemon_core_test|daemon_service_test|dispatcher_rewriter_test|file_digest_test|import_test|memory_plan_test|model_arena_test|onnx_test|provenance_test|reference_test|rewrite_test|runtime_.*test|shared_weights_test|external_data_test|target_test|tune_test|vulkan_test)$'

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

# Every folder of the build but the benchmarks' and, without $2, the conformance tests'.
folders_of() {
  ninja -C "build/$1" -t targets all | sed -n 's/^\([a-z_/]*\/all\): phony$/\1/p' |
    grep -vE "^(tests|tests/bench.*)/all$" | { if [[ ${2:-} ]]; then cat; else grep -vE '^tests/(conformance/|digests/)'; fi; }
}

build() { cmake --build --preset "$1" --parallel "$jobs" --target "${@:2}"; }

# run_tests PHASE PRESET ARGUMENTS OF CTEST...
run_tests() {
  say "$1: test"
  "${under[@]}" ctest --preset "$2" --parallel "$jobs" "${@:3}" | tee "build/$2/$1.log"
}
forget_reports() { rm -f "build/$1"/test_reports/* "build/$1"/reports/*; }

# any_of NAME...: a regular expression for these.
any_of() { local IFS='|'; echo "^($*)$"; }

# fitting SECONDS NAME...: those of the tests that are expected to end within so many seconds of AddressSanitizer's build.
fitting() {
  printf '%s\n' "${@:2}" |
    /usr/bin/python3 tests/support/fitting_tests.py "$1" "$jobs" build/release/release.log build/asan/asan.log
}

# Seconds that are left when a build like PERCENT of the release's has been made.
left_after() { echo $((budget_s - (SECONDS - started) - release_build_s * $1 / 100)); }

release_phase() {
  say "release: build"
  rm -f build/release/build_seconds
  configure release
  configure_python
  cmake --build --preset release --parallel "$jobs"
  echo $((SECONDS - started)) > build/release/build_seconds
  forget_reports release
  run_tests release release
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
  forget_reports asan
  if [[ " ${phases[*]} " != *" rest "* ]]; then  # everything
    mapfile -t names < <(folders_of asan all)
    build asan "${names[@]}"
    run_tests asan asan -E "$unsanitized"
    return
  fi
  mapfile -t names < <(folders_of asan)
  build asan "${names[@]}"
  mapfile -t names < <(fitting "$(left_after 0)" $(test_names asan -R "$hardened"))
  run_tests asan asan -R "$(any_of "${names[@]}")"
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

# What AddressSanitizer's phase left, as far as there is time: the shortest first.
rest_phase() {
  local all ran=() chosen=() left=()
  mapfile -t all < <(test_names asan -E "$unsanitized")
  mapfile -t ran < <(sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .*/\1/p' build/asan/asan.log)
  mapfile -t left < <(printf '%s\n' "${all[@]}" | grep -vE "$(any_of "${ran[@]}")")
  mapfile -t chosen < <(fitting "$(left_after 15)" "${left[@]}")
  leave_out asan "left out for want of time; it ran in the release phase" \
    $(printf '%s\n' "${left[@]}" | grep -vE "$(any_of "${chosen[@]}")")
  echo "rest: ${#chosen[@]} of ${#left[@]} tests fit into the time left"
  ((${#chosen[@]} > 0)) || return 0
  say "rest: build"
  mapfile -t names < <(folders_of asan all)
  build asan "${names[@]}"
  run_tests rest asan -R "$(any_of "${chosen[@]}")"
}

declare -A preset_of=([release]=release [quick]=release [asan]=asan [rest]=asan [tsan]=tsan)
failed=() not_run=() under=() release_build_s=0
for phase in "${phases[@]}"; do
  if [[ ! ${preset_of[$phase]:-} ]]; then echo "test.sh: unknown phase '$phase'; use release, asan, tsan or quick" >&2; exit 2; fi
done
for phase in "${phases[@]}"; do
  preset=${preset_of[$phase]}
  rm -f "build/$preset/$phase.log"
  # What the phase takes at least, as a part of the release's build.
  if { [[ $phase == asan ]] && (($(left_after 90) < 0)); } || { [[ $phase == tsan ]] && (($(left_after 40) < 0)); }; then
    configure "$preset" > /dev/null
    forget_reports "$preset"
    leave_out "$preset" "left out on a slow machine: the phases before took $((SECONDS - started)) s" $(test_names "$preset")
    not_run+=("$phase")
    continue
  fi
  # Not `${phase}_phase || ...`: that would switch off errexit inside.
  set +e
  (set -e; "${phase}_phase")
  status=$?
  set -e
  ((status == 0)) || failed+=("$phase")
  if [[ $phase == release && -f build/release/build_seconds ]]; then release_build_s=$(< build/release/build_seconds); fi
done

say "summary"
summary() {
  if [[ " ${not_run[*]} " == *" $1 "* ]]; then
    echo "left out on a slow machine; scripts/test.sh $1 runs it"
    return
  fi
  grep -h '% tests passed' "build/${preset_of[$1]}/$1.log" 2>/dev/null || echo "no test ran"
}
for preset in $(printf '%s\n' "${phases[@]}" | sed 's/rest/asan/; s/quick/release/' | sort -u); do
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
