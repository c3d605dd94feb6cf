#!/bin/bash
# Packs what the tests of GPUs need into a folder that travels to a machine with a GPU and nothing else of ours: stripped
# programs, the libraries that they name (found beside them, whatever that machine has), test cases and benchmark models.
#
#   tests/bench/gpu/bundle.sh build/release build/gpu [MODELS]     # MODELS: a folder of benchmark models
#   build/gpu/run.sh 120                                           # there, in the root of a copy of this repository
#
# MODELS: that of tests/bench/compare/models.py.
#
# Needs patchelf, xz, and the targets below, built. The programs are those of this machine's distribution or a later one.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
build=$(realpath "$1") out=$2 models=${3:+$(realpath "$3")}
programs="vulkan_test runtime_test ops_conformance_test numpy_conformance_test integration_test sdk_test
          models_on_gpu_test vulkan_replay_bench hearthd hearth-worker hearth hearth-vulkan-trial hearth-vulkan-runner"
mkdir -p "$out/gl"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{bin,lib,cases/models}

for program in $programs; do strip -o "$work/bin/$program" "$build/bin/$program"; done
for program in $programs; do ldd "$build/bin/$program"; done | awk '$3 ~ /^\// {print $3}' | sort -u |
  grep -v -E '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so' | xargs cp -Lt "$work/lib"
# What LLVM names and no kernel needs, 55 MB of it: libraries of the same names whose functions end the program.
stand_in() {  # FILE PATTERN [MAP]
  [ -e "$work/lib/$1" ] || return 0
  nm -D --undefined-only "$work"/lib/libLLVM*.so* | awk -v p="$2" '$2 ~ p {sub(/@.*/, "", $2); print $2}' | sort -u |
    sed 's/.*/void &(void){__builtin_trap();}/' >"$work/stand_in.c"
  gcc -w -shared -fPIC "-Wl,-soname,$1" ${3:+-Wl,--version-script=$3} -o "$work/lib/$1" "$work/stand_in.c"
}
stand_in libz3.so.4 '^Z3_'
printf 'LIBXML2_2.4.30 { global: *; };\nLIBXML2_2.6.0 { global: xmlReadMemory; };\n' >"$work/xml.map"
stand_in libxml2.so.2 '^xml' "$work/xml.map"
rm -f "$work"/lib/libicu*
strip --strip-unneeded "$work"/lib/*
for program in "$work"/bin/*; do patchelf --set-rpath '$ORIGIN/../lib' "$program"; done
for library in "$work"/lib/*; do patchelf --set-rpath '$ORIGIN' "$library"; done

cp -r "$build/tests/conformance/numpy/cases" "$work/cases/numpy"
cp -r /usr/share/libonnx-testdata/data/node "$work/cases/onnx"
# To try run.sh where there is no GPU: HEARTH_GPU_STAND_IN=1 packs stand-ins of CUDA's and HIP's drivers.
if [ -n "${HEARTH_GPU_STAND_IN:-}" ]; then cp -r "$build/stand_in" "$work/lib/"; fi
/usr/bin/python3 "$here/make_models.py" "$work/cases/models" || echo "no products in half precision: python3-onnx is missing"
if [ -n "$models" ]; then
  for model in matmul_512 matmul_1024 matmul_2048 conformer_d256_h4_t256 layernorm_4096x1024 softmax_4096x4096 sum_16M \
    chain5_16M conv2d_3x3_64_56 dwconv1d_k31_c512_t1024 attention_h8_t512_d64; do
    cp "$models/$model.onnx" "$work/cases/models/"
  done
  cp "$models"/conformer_d256_h4_t256.{in.in0,out.out}.npy "$work/cases/models/"
fi

cd "$work"
for part in bin lib; do tar cf - $part | xz --x86 --lzma2=preset=9,dict=256MiB >"$out/$part.txz" & done
tar cf - cases | xz --lzma2=preset=9,dict=128MiB >"$out/cases.txz"
wait
cp "$here"/{run.sh,torch_peer.py,table.py} "$out/"
# The loaders of Vulkan and EGL, for a machine that has a driver and no loader.
(cd "$out/gl" && apt-get -qq download libvulkan1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2 2>/dev/null) || true
ls -l "$out"
