#!/bin/bash
# run.sh [SECONDS]: unpacks what bundle.sh packed to /tmp/hearth_gpu, runs the tests of GPUs on every kind of device that
# `hearth devices` finds (HEARTH_GPU_DEVICES: on these, as "cuda vulkan"), each at most SECONDS long, and measures beside
# torch; in the root of a copy of the repository. Logs, one JSON and one table go to $OUT, else to /tmp/hearth_gpu/out.
here=$(cd "$(dirname "$0")" && pwd)
repo=$(pwd) limit=${1:-120} work=/tmp/hearth_gpu
logs=$work/out
rm -rf $work && mkdir -p $logs $work/home $work/run && chmod 700 $work/run
for part in bin lib cases; do tar -C $work -xJf "$here/$part.txz" & done
wait
if ! ldconfig -p | grep -q libvulkan.so.1 && [ "$(id -u)" = 0 ]; then
  for package in "$here"/gl/*.deb; do [ -e "$package" ] && dpkg -x "$package" /; done
  ldconfig
fi
driver=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
[ -z "$VK_DRIVER_FILES" ] && [ -e $driver ] && export VK_DRIVER_FILES=$driver
export HEARTH_SOURCE_DIR=$repo HEARTH_BIN_DIR=$work/bin HOME=$work/home XDG_RUNTIME_DIR=$work/run PATH=$work/bin:$PATH
export XDG_CACHE_HOME=$HOME/.cache
# A stand-in of a driver, where bundle.sh was told to pack one: for trying this where there is no GPU.
[ -e $work/lib/stand_in ] && export LD_LIBRARY_PATH=$work/lib/stand_in
cd $work || exit 1

say() { echo "== $* ($SECONDS s)"; }
start() {  # NAME COMMAND...: one test program, in the background
  local name=$1 from=$SECONDS
  shift
  (
    HEARTH_TEST_REPORT=$work/report_$name timeout "$limit" "$@" >$logs/$name.log 2>&1
    code=$?
    echo "$name: exit $code, $((SECONDS - from)) s; $(grep -a -E '^All tests|^test cases:|^assertions:|^[0-9]+ cases:' $logs/$name.log | tr '\n' ' ')" |
      tee -a $logs/summary.txt
  ) &
}

say devices
hearth devices | tee $logs/devices.txt
hearth devices --json >$logs/devices.json
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv 2>/dev/null | tee $logs/gpu.txt
devices=${HEARTH_GPU_DEVICES:-$(for name in cuda hip vulkan; do grep -q "^$name:" $logs/devices.txt && echo $name; done)}
for device in $devices; do
  say "tests on $device"
  export HEARTH_TEST_DEVICE=$device HEARTH_VULKAN_TRIAL=0
  [ $device = vulkan ] && start vulkan vulkan_test
  start ${device}_runtime runtime_test '~[host]~[threads]~[still]'
  [ $device = vulkan ] && HEARTH_VULKAN_STAGING=1 start staging runtime_test '~[host]~[threads]~[still]'
  start ${device}_sdk sdk_test '~[fork]~[exact]'
  start ${device}_integration integration_test 'digits: acc*,benchmark*,the benchmark*'
  start ${device}_models models_on_gpu_test
  wait
  unset HEARTH_TEST_DEVICE
  mkdir -p onnx_$device
  HEARTH_DEVICE=$device HEARTH_SOCKET=$work/onnx_$device/socket HEARTH_CACHE_DIR=$work/onnx_$device/cache \
    start ${device}_onnx hearth onnx conformance cases/onnx --threads 1
  wait
done
if [[ " $devices " == *" vulkan "* ]]; then
  say conformance on vulkan
  export HEARTH_CONFORMANCE_DEVICE=vulkan HEARTH_NUMPY_CASES=$work/cases/numpy
  shards=${SHARDS:-8}
  for program in numpy ops; do
    ${program}_conformance_test --list-test-names-only >$program.names
    split -n r/$shards -d -a 1 $program.names $program.
    for i in $(seq 0 $((shards - 1))); do start ${program}_$i ${program}_conformance_test -f $program.$i; done
  done
  wait
  unset HEARTH_CONFORMANCE_DEVICE
fi
unset HEARTH_VULKAN_TRIAL
say speed
for device in $devices; do
  for model in cases/models/*.onnx; do
    name=$(basename "$model" .onnx)
    timeout 60 hearth run "$model" --device $device --repeat ${REPEAT:-30} --json >$logs/run_${device}_$name.json 2>$logs/run_${device}_$name.err
  done
done
timeout 120 python3 "$here/torch_peer.py" >$logs/torch.json 2>$logs/torch.err || echo "torch: $(tail -1 $logs/torch.err)"
python3 "$here/table.py" $logs $devices | tee $logs/table.md
[[ " $devices " == *" vulkan "* ]] && timeout 60 vulkan_replay_bench | tee $logs/replay_bench.txt
say done
[ -n "$OUT" ] && tar -C $logs -czf "$OUT/logs.tgz" . && cp $logs/table.md $logs/table.json "$OUT"
! grep -q -v ': exit 0,' $logs/summary.txt
