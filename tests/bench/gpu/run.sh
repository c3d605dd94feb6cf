#!/bin/bash
# run.sh [SECONDS]: unpacks what bundle.sh packed to /tmp/hearth_gpu, runs the tests of Vulkan, each at most SECONDS long,
# and measures; in the root of a copy of the repository. Logs go to $OUT, else to /tmp/hearth_gpu/out.
here=$(cd "$(dirname "$0")" && pwd)
repo=$(pwd) limit=${1:-120} work=/tmp/hearth_gpu
logs=$work/out
rm -rf $work && mkdir -p $logs $work/home $work/run && chmod 700 $work/run
for part in bin lib cases; do tar -C $work -xJf "$here/$part.txz" & done
wait
if ! ldconfig -p | grep -q libvulkan.so.1 && [ "$(id -u)" = 0 ]; then
  for package in "$here"/gl/*.deb; do dpkg -x "$package" /; done
  ldconfig
fi
driver=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
[ -z "$VK_DRIVER_FILES" ] && [ -e $driver ] && export VK_DRIVER_FILES=$driver
export HEARTH_SOURCE_DIR=$repo HEARTH_BIN_DIR=$work/bin HOME=$work/home XDG_RUNTIME_DIR=$work/run PATH=$work/bin:$PATH
export XDG_CACHE_HOME=$HOME/.cache
cd $work || exit 1

say() { echo "== $* ($SECONDS s)"; }
start() {  # NAME COMMAND...: one test program, in the background
  local name=$1 from=$SECONDS
  shift
  (
    HEARTH_TEST_REPORT=$work/report_$name timeout "$limit" "$@" >$logs/$name.log 2>&1
    code=$?
    echo "$name: exit $code, $((SECONDS - from)) s; $(grep -a -E '^All tests|^test cases:|^assertions:' $logs/$name.log | tr '\n' ' ')" |
      tee -a $logs/summary.txt
  ) &
}

say devices
hearth devices
hearth devices --json >$logs/devices.json
export HEARTH_TEST_DEVICE=vulkan HEARTH_VULKAN_TRIAL=0
start vulkan vulkan_test
start runtime runtime_test '~[host]~[threads]~[still]'
HEARTH_VULKAN_STAGING=1 start staging runtime_test '~[host]~[threads]~[still]'
start sdk sdk_test '~[fork]~[exact]'
start integration integration_test 'digits: acc*,benchmark*,the benchmark*'
wait
unset HEARTH_TEST_DEVICE
say conformance
export HEARTH_CONFORMANCE_DEVICE=vulkan HEARTH_NUMPY_CASES=$work/cases/numpy
shards=${SHARDS:-8}
for program in numpy ops; do
  ${program}_conformance_test --list-test-names-only >$program.names
  split -n r/$shards -d -a 1 $program.names $program.
  for i in $(seq 0 $((shards - 1))); do start ${program}_$i ${program}_conformance_test -f $program.$i; done
done
wait
unset HEARTH_CONFORMANCE_DEVICE HEARTH_VULKAN_TRIAL
say speed
models=cases/models
conformer=$models/conformer_d256_h4_t256
hearth run $conformer.onnx --device vulkan --input in0=$conformer.in.in0.npy --expect out=$conformer.out.out.npy 2>&1 |
  tee $logs/conformer.txt | tail -1
for model in $models/*.onnx; do
  name=$(basename "$model" .onnx)
  timeout 60 hearth run "$model" --device vulkan --repeat 20 --profile >$logs/profile_$name.txt 2>&1
  echo "$name: $(grep -a '^replay' $logs/profile_$name.txt)"
done
timeout 60 vulkan_replay_bench | tee $logs/replay_bench.txt
say done
[ -n "$OUT" ] && tar -C $logs -czf "$OUT/logs.tgz" .
! grep -q -v ': exit 0,' $logs/summary.txt
