#!/usr/bin/env bash
# The main job, end to end: builds the programs, runs a real model on real input in two processes, the second of which
# compiles nothing, then Silero VAD on a minute of speech. Does all its set-up (scripts/setup.sh); Silero VAD's model comes
# out of the Python package that carries it, where a package index answers (scripts/python.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
bash scripts/setup.sh

echo "demo: building the programs"
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
[[ -f build/release/build.ninja ]] || cmake --preset release
bash scripts/python.sh silero
cmake --build --preset release --parallel "$(nproc)" --target bin/hearth bin/hearthd bin/hearth-worker bin/silero_vad \
  bin/hearth-vulkan-trial made_models

bin=$root/build/release/bin
work=$(mktemp -d "${TMPDIR:-/tmp}/hearth-demo.XXXXXX")
# Nothing of the user's environment but these; a private socket and an empty private cache.
hearth() {
  env -i PATH="$PATH" HOME="$HOME" LC_ALL=C.UTF-8 HEARTH_SOCKET="$work/hearthd.sock" HEARTH_CACHE_DIR="$work/cache" "$@"
}
cleanup() {
  hearth "$bin/hearth" daemon stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

run_digits() {  # $1: process number
  hearth "$bin/hearth" run "$root/examples/digits/digits.onnx" --input image="$root/examples/digits/digits_images.npy" \
    --output-dir "$work/digits$1" --json >"$work/digits$1.json"
}

echo
echo "demo: digits (400 held-out handwritten digits), process 1, cold"
run_digits 1
echo "demo: digits, process 2, warm"
run_digits 2
/usr/bin/python3 - "$work" "$root/examples/digits/digits_labels.npy" <<'PYTHON'
import json
import pathlib
import sys

import numpy as np

work, labels = pathlib.Path(sys.argv[1]), np.load(sys.argv[2])
runs = [json.loads((work / f"digits{i}.json").read_text()) for i in (1, 2)]
files = [[pathlib.Path(o["file"]) for o in r["outputs"]] for r in runs]
first = np.load(files[0][0])
accuracy = float((first.argmax(1) == labels).mean())
for i, r in enumerate(runs, 1):
    print(f"  process {i}: {r['compiled_kernels']} of {r['kernels']} kernels compiled, prepare {r['prepare_ms']:.1f} ms, "
          f"replay {r['replay_us']['p50']:.0f} us for {len(labels)} images on {r['device']}, {r['threads']} thread(s)")
same = all(a.read_bytes() == b.read_bytes() for a, b in zip(*files))
print(f"  accuracy {100 * accuracy:.2f} %, outputs of both processes {'bit-identical' if same else 'DIFFER'}")
wrong = []
if accuracy < 0.97:
    wrong.append("accuracy is below 97 %")
if not same:
    wrong.append("the second process computed something else")
if runs[0]["compiled_kernels"] == 0:
    wrong.append("the first process compiled nothing: its cache was not empty")
if runs[1]["compiled_kernels"] != 0:
    wrong.append("the second process compiled kernels")
sys.exit("demo: FAILED: " + "; ".join(wrong) if wrong else 0)
PYTHON

has_vulkan=
devices=$(hearth "$bin/hearth" devices 2>&1)
if grep -q '^vulkan:' <<<"$devices"; then
  has_vulkan=1
  echo "demo: digits on a Vulkan device"
  hearth "$bin/hearth" run "$root/examples/digits/digits.onnx" --input image="$root/examples/digits/digits_images.npy" \
    --device vulkan --output-dir "$work/digits_vulkan" --json >"$work/digits_vulkan.json"
  /usr/bin/python3 - "$work" <<'PYTHON'
import json
import pathlib
import sys

import numpy as np

work = pathlib.Path(sys.argv[1])
run = json.loads((work / "digits_vulkan.json").read_text())
first = json.loads((work / "digits1.json").read_text())
apart = np.abs(np.load(run["outputs"][0]["file"]) - np.load(first["outputs"][0]["file"])).max()
print(f"  {run['device']}: {run['kernels']} kernels, largest difference to the processor's result {apart:.1e}")
sys.exit("demo: FAILED: the results differ" if not apart < 1e-4 else 0)
PYTHON
else
  echo "demo: no Vulkan device here (hearth devices says why)"
fi

models=${HEARTH_TEST_MODELS:-$root/build/release/test_models}
echo
if [[ -f $models/silero_vad_16k_op15.onnx ]]; then
  echo "demo: Silero VAD on 60 s of speech, twice"
  for process in 1 2; do
    hearth "$bin/silero_vad" --model "$models/silero_vad_16k_op15.onnx" --wav "$models/speech_16k.wav" \
      --probs "$work/probs$process.txt" >"$work/segments$process.txt"
  done
  head -n 5 "$work/segments2.txt" | sed 's/^/  /'
  echo "  … $(wc -l <"$work/segments2.txt") lines, $(wc -l <"$work/probs2.txt") chunk probabilities"
  cmp "$work/probs1.txt" "$work/probs2.txt" || { echo "demo: FAILED: the two runs differ" >&2; exit 1; }
  probs=("$work/probs2.txt")
  if [[ $has_vulkan ]]; then
    echo "demo: and on a Vulkan device"
    hearth env HEARTH_DEVICE=vulkan "$bin/silero_vad" --model "$models/silero_vad_16k_op15.onnx" \
      --wav "$models/speech_16k.wav" --probs "$work/probs_vulkan.txt" >"$work/segments_vulkan.txt"
    probs+=("$work/probs_vulkan.txt")
  fi
  /usr/bin/python3 - "$models/silero_probs_speech_16k.txt" "${probs[@]}" <<'PYTHON'
import sys

import numpy as np

want = np.loadtxt(sys.argv[1])
for path in sys.argv[2:]:
    got = np.loadtxt(path)
    if got.shape != want.shape:
        sys.exit(f"demo: FAILED: {got.size} probabilities instead of {want.size}")
    worst = float(np.abs(got - want).max())
    where = "the Vulkan device" if path.endswith("probs_vulkan.txt") else "the processor"
    print(f"  largest difference to the network in numpy, on {where}: {worst:.1e}")
    if worst > 1e-3:
        sys.exit("demo: FAILED: more than 1e-3 apart")
PYTHON
else
  echo "demo: Silero VAD is left out: no package index answered; put silero_vad-6.2.3-py3-none-any.whl into build/python/models and run this again"
fi

echo
hearth "$bin/hearth" stats | sed 's/^/  /'
echo "demo: done"
