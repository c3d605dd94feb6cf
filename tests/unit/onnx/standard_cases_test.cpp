// ONNX's own operator test cases (Debian's libonnx-testdata), run on the reference interpreter, and two models of
// ../shared/models. Cases the importer says it does not support are counted, never passed silently: the number that
// must pass is stated.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>

#include "client/onnx/model_file.h"
#include "examples/silero_vad/wav.h"
#include "onnx/onnx.pb.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
namespace fs = std::filesystem;

namespace {

constexpr int kCasesThatMustPass = 828;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

fs::path shared_models() {
  const char* dir = std::getenv("HEARTH_SOURCE_DIR");
  return (dir == nullptr ? fs::current_path() : fs::path(dir)).parent_path() / "shared" / "models";
}

std::optional<Array> to_array(const ::onnx::TensorProto& tensor) {
  try {
    const HostTensor x = to_host_tensor(tensor, nullptr);
    return Array{x.dtype(), x.shape(), std::string(x.data(), x.bytes())};
  } catch (const client::JitError&) {
    return std::nullopt;
  }
}

// input_N.pb / output_N.pb of a case. Nothing when one is not a dense numeric tensor.
std::optional<std::vector<::onnx::TensorProto>> tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<::onnx::TensorProto> found;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return found;
    ::onnx::TensorProto tensor;
    if (!tensor.ParseFromString(content(path)) || tensor.data_type() == ::onnx::TensorProto::STRING)
      return std::nullopt;
    found.push_back(tensor);
  }
}

struct Verdict {
  bool passed = false;
  bool unsupported = false;
  std::string text;
};

// `bake`: inputs other than the first become initializers, as exporters write axes and shapes.
Verdict check_case(const fs::path& folder, bool bake) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(content(folder / "model.onnx"))) return {false, false, "cannot parse"};
  const auto inputs = tensors(folder / "test_data_set_0", "input_");
  const auto outputs = tensors(folder / "test_data_set_0", "output_");
  if (!inputs || !outputs) return {false, true, "not a tensor"};
  std::map<std::string, Array> arrays;
  for (std::size_t i = 0; i < inputs->size() && static_cast<int>(i) < model.graph().input_size(); ++i) {
    const std::string& name = model.graph().input(static_cast<int>(i)).name();
    ::onnx::TensorProto tensor = (*inputs)[i];
    tensor.set_name(name);
    if (bake && i > 0) *model.mutable_graph()->add_initializer() = tensor;
    const auto array = to_array(tensor);
    if (!array) return {false, true, "an input of another type"};
    arrays[name] = *array;
  }
  std::vector<Array> expected;
  for (const ::onnx::TensorProto& output : *outputs) {
    const auto array = to_array(output);
    if (!array) return {false, true, "an output of another type"};
    expected.push_back(*array);
  }
  ImportOptions options;
  for (const auto& input : model.graph().input()) {
    const bool baked = bake && input.name() != model.graph().input(0).name();
    if (!baked && arrays.count(input.name()) != 0) options.input_shapes[input.name()] = arrays[input.name()].shape;
  }
  const auto imported = import_model_bytes(model.SerializeAsString(), folder.filename().string(), options);
  if (!imported.ok()) {
    return {false, imported.status().code() == absl::StatusCode::kUnimplemented,
            std::string(imported.status().message())};
  }
  const auto results = evaluate(*imported, arrays);
  if (!results.ok()) return {false, false, std::string(results.status().message())};
  for (std::size_t i = 0; i < expected.size() && i < results->size(); ++i) {
    const std::string what = difference((*results)[i], expected[i], 1e-4, 1e-5);
    if (!what.empty()) return {false, false, "output " + std::to_string(i) + ": " + what};
  }
  return {true, false, ""};
}

}  // namespace

TEST_CASE("ONNX's operator test cases") {
  const fs::path data = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(data)) {
    std::cout << "skipped: ONNX's test cases are not installed (libonnx-testdata)\n";
    return;
  }
  int passed = 0;
  int unsupported = 0;
  std::vector<std::string> failures;
  std::set<fs::path> cases;
  for (const char* folder : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const auto& entry : fs::directory_iterator(data / folder)) {
      if (fs::exists(entry.path() / "model.onnx")) cases.insert(entry.path());
    }
  }
  const char* only = std::getenv("HEARTH_ONNX_CASE");
  for (const fs::path& path : cases) {
    if (only != nullptr && path.filename() != only) continue;
    // ONNX 1.12 ships its bf16 cases with data that contradicts their own models' shapes and types.
    if (path.filename().string().find("BFLOAT16") != std::string::npos) continue;
    Verdict verdict = check_case(path, false);
    if (verdict.unsupported) verdict = check_case(path, true);
    passed += verdict.passed ? 1 : 0;
    unsupported += verdict.unsupported ? 1 : 0;
    if (!verdict.passed && !verdict.unsupported) failures.push_back(path.filename().string() + ": " + verdict.text);
    if (verdict.unsupported && std::getenv("HEARTH_ONNX_LIST") != nullptr) std::cout << verdict.text << "\n";
  }
  std::cout << "ONNX operator cases: " << passed << " passed, " << unsupported << " not supported, " << failures.size()
            << " failed\n";
  for (const std::string& failure : failures) std::cout << "  " << failure << "\n";
  CHECK(failures.empty());
  if (only == nullptr) CHECK(passed >= kCasesThatMustPass);
}

TEST_CASE("Silero VAD on the reference interpreter gives the reference probabilities") {
  const fs::path folder = shared_models();
  if (!fs::exists(folder / "speech_16k.wav")) {
    std::cout << "skipped: ../shared/models is not there\n";
    return;
  }
  const auto samples = examples::read_wav((folder / "speech_16k.wav").string());
  REQUIRE(samples.ok());
  std::ifstream probabilities(folder / "silero_probs_speech_16k.txt");
  const auto model = import_model((folder / "silero_vad_16k_op15.onnx").string(),
                                  {.input_shapes = {{"input", {1, 576}}, {"state", {2, 1, 128}}}});
  REQUIRE(model.ok());
  std::vector<float> window(576, 0.0F);
  std::map<std::string, Array> inputs = {{"state", {DType::kF32, {2, 1, 128}, std::string(1024, '\0')}},
                                         {"sr", {DType::kI64, {}, std::string("\x80\x3e\0\0\0\0\0\0", 8)}}};
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    std::copy(window.end() - 64, window.end(), window.begin());
    for (std::size_t i = 0; i < 512; ++i) window[64 + i] = static_cast<float>((*samples)[chunk * 512 + i]) / 32768.0F;
    inputs["input"] = {DType::kF32, {1, 576}, std::string(reinterpret_cast<const char*>(window.data()), 576 * 4)};
    const auto results = evaluate(*model, inputs);
    INFO(results.status().message());
    REQUIRE(results.ok());
    float probability = 0;
    std::memcpy(&probability, results->at(0).bytes.data(), sizeof(probability));
    double expected = 0;
    REQUIRE(probabilities >> expected);
    CHECK(static_cast<double>(probability) == Approx(expected).margin(1e-5));
    inputs["state"] = results->at(1);
  }
}

TEST_CASE("small benchmark models match ONNX Runtime on the reference interpreter") {
  const fs::path folder = shared_models() / "bench";
  if (!fs::exists(folder)) {
    std::cout << "skipped: ../shared/models/bench is not there\n";
    return;
  }
  for (const std::string name : {"tiny10_1K"}) {
    const auto model = import_model((folder / (name + ".onnx")).string());
    REQUIRE(model.ok());
    const auto input = client::read_npy((folder / (name + ".in.in0.npy")).string());
    const auto want = client::read_npy((folder / (name + ".out.out.npy")).string());
    REQUIRE(input.ok());
    REQUIRE(want.ok());
    const auto got = evaluate(*model, {{"in0", *input}});
    INFO(name << ": " << got.status().message());
    REQUIRE(got.ok());
    CHECK(difference(got->at(0), *want, 1e-5, 1e-6).empty());
  }
}
