#!/usr/bin/env python3
"""The examples in the comments of the public headers compile: a reader may copy them.
/usr/bin/python3 header_examples_test.py SOURCE_DIR COMPILER"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, COMPILER = Path(sys.argv[1]), sys.argv[2]
INCLUDE = SOURCE / "include"

# Names that an example takes for granted, in every header but those below, which say theirs themselves.
COMMON = """
extern const Tensor x, y, w, b, r, c, h, q, k, v, heads, cos, sin, offset, mask, boxes, scores, images, table, token_ids,
    tokens, scale, bias, zero_point, w_scale, theta, zeros, ones, labels, sum, mean_of_x;
extern const Dim n;
extern const std::vector<float> weights, samples, pixels, chunk;
"""
OWN = {
    "array.h": "extern const Array result;",
    "build_error.h": "struct MissingWeights { std::string name; }; void fetch(const std::string&);\n"
                     "extern absl::StatusOr<PreparedPlan> prepared;",
    "dlpack.h": "extern DLManagedTensor* capsule; extern Shape shape; extern absl::StatusOr<Array> result;",
    "error_kind.h": "extern PreparedJit jit;",
    "evaluate.h": "extern const Tensor x, w, sum, mean; extern const std::vector<float> samples;",
    "input_spec.h": "struct Model {};\nHEARTH_JIT_WRAPPER(VadJit, Model, (chunk, rate)) { return chunk * cast(rate, "
                    "DType::kF32); }\nextern VadJit jit;",
    "instance.h": "extern const PreparedPlan plan; extern const std::vector<float> pixels;",
    "jit_recurrent.h": "struct Silero {};\nHEARTH_JIT_WRAPPER(SileroJit, Silero, (chunk, state_h, state_c)) {\n"
                       "  return chunk + state_h + state_c;\n}\nextern absl::StatusOr<SileroJit::Prepared> jit;\n"
                       "extern const std::vector<float> chunk;",
    "jit_wrapper.h": "struct Encoder {\n  std::int64_t max_batch, max_frames;\n  Tensor forward(const Tensor&, const "
                     "Tensor&, const Dim&, const Dim&) const;\n};\nextern Encoder encoder; extern std::vector<float> mel;",
    "linear_attention.h": "extern const Tensor x, w, b, past, q, k, v, state, g, beta;",
    "npy.h": "extern std::vector<float> y;",
    "plan_file.h": "extern absl::StatusOr<PreparedPlan> plan;",
    "prepare.h": "extern const Tensor y; extern std::vector<float> x;",
    "prewarm.h": "extern TracedGraph traced;",
    "profile.h": "void print(const std::string&, std::uint64_t); extern Profile profile; using runtime::LaunchTime;",
    "reduce.h": "extern const Tensor x;",
    "small_float.h": "",
    "trace.h": "extern const Tensor w; extern const ArrayView example, new_input; Tensor model(const Tensor&);",
    "view.h": "extern Instance instance; extern absl::StatusOr<MutableView> half_input;\n"
              "extern const std::vector<float> samples;",
    "safetensors.h": "", "onnx.h": "using namespace onnx;",
}
# What of an example stands outside of functions.
OUTSIDE = re.compile(r"^(?:HEARTH_JIT_WRAPPER|absl::Status pack_state)\(.*?^\}\n", re.M | re.S)


def examples_of(header):
    blocks = re.findall(r"(?:^//   .*\n)+", header.read_text(), re.M)
    return ["".join(line[5:] + "\n" for line in block.splitlines()) for block in blocks
            if not block.startswith("//   absl::Status pack_state(Jit& jit")]  # a signature


def main():
    headers = sorted(INCLUDE.rglob("*.h"))
    text = ["#include <iostream>\n#include <span>\n#include <vector>\n"]
    text += [f"#include <{header.relative_to(INCLUDE)}>\n" for header in headers]
    count = 0
    for header in headers:
        for example in examples_of(header):
            outside = "".join(OUTSIDE.findall(example))
            inside = OUTSIDE.sub("", example)
            text.append(f"namespace hearth::client::example{count} {{\n{OWN.get(header.name, COMMON)}\n{outside}"
                        f"[[maybe_unused]] static absl::Status body() {{\n"
                        f'#line 1 "{header.relative_to(SOURCE)}, example {count}"\n{inside}\n'
                        f"return absl::OkStatus();\n}}\n}}\n")
            count += 1
    assert count > 45, count
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "examples.cpp"
        file.write_text("".join(text))
        compiled = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-variable",
                                   "-Wno-unused-but-set-variable", f"-I{INCLUDE}", file], capture_output=True, text=True)
    sys.stderr.write(compiled.stderr)
    print(f"{count} examples")
    return compiled.returncode


sys.exit(main())
