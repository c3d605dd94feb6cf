#!/bin/bash
# webgpu.sh MODELS_FOLDER [BIN_DIR] [OLD_BIN_DIR]: products, a perceptron, a Conformer, attention, a convolution, softmax
# and layer normalisation on Mesa's lavapipe of Debian's backports, by `vulkan` and by ONNX Runtime's WebGPU provider (npm's
# onnxruntime-node, whose binding needs that driver), model by model in one run; with OLD_BIN_DIR those programs as well.
# What is fetched lies in build/webgpu.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../../.." && pwd)
models=$(cd "${1:?the folder of the benchmark models}" && pwd)
bin=$(realpath "${2:-$repo/build/release/bin}") old=${3:+$(realpath "$3")} work=$repo/build/webgpu
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
cd "$work"
[ -d node_modules/onnxruntime-node ] || { npm init -y && npm install onnxruntime-node --ignore-scripts; } >/dev/null
if [ ! -d root ]; then
  source=$(apt-get indextargets --format '$(REPO_URI)' | head -1)
  echo "deb $source bookworm-backports main" >backports.list
  options=(-o Dir::Etc::sourcelist="$work/backports.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/state/lists"
    -o Dir::Cache="$work/cache")
  apt-get -qq "${options[@]}" update
  apt-get -qq "${options[@]}" download mesa-vulkan-drivers libdrm2 libdrm-amdgpu1
  for package in *.deb; do dpkg-deb -x "$package" root; done
fi
libraries=$work/root/usr/lib/x86_64-linux-gnu
sed "s|\"library_path\": \"[^\"]*\"|\"library_path\": \"$libraries/libvulkan_lvp.so\"|" root/usr/share/vulkan/icd.d/lvp_icd.json >lvp.json
export VK_DRIVER_FILES=$work/lvp.json VK_ICD_FILENAMES=$work/lvp.json LD_LIBRARY_PATH=$libraries NODE_PATH=$work/node_modules
export HEARTH_SOCKET=$work/socket HEARTH_CACHE_DIR=$work/hearth

ours() {  # PROGRAMS MODEL: the least of six replays, us
  "$1/hearth" run "$models/$2.onnx" --device vulkan --json --repeat 6 2>/dev/null |
    /usr/bin/python3 -c 'import json, sys; print(int(json.load(sys.stdin)["replay_us"]["min"]))'
  "$1/hearth" daemon stop >/dev/null 2>&1 || true
}
echo "model, WebGPU us, ours us, ratio, before us, before over ours"
for model in matmul_512 mlp_b64 conformer_d256_h4_t256 attention_h8_t512_d64 conv2d_3x3_64_56 softmax_4096x4096 layernorm_4096x1024; do
  theirs=$(node "$here/webgpu_peer.js" "$models/$model.onnx" 2>/dev/null | tail -1)
  now=$(ours "$bin" $model)
  before=$([ -z "$old" ] || ours "$old" $model)
  /usr/bin/python3 -c "
theirs, now, before = $theirs, $now, ${before:-0}
print('$model', theirs, now, f'{theirs / now:.2f}', before, f'{before / now:.2f}', sep=', ')"
done
