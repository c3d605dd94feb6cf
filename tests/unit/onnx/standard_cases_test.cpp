// ONNX's standard test cases (Debian's libonnx-testdata) on the oracle, and two models. Which cases need not
// pass is listed with reasons in tests/conformance/onnx/refused_cases.txt.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "examples/silero_vad/wav.h"
#include "tests/conformance/onnx/expected_cases.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
namespace fs = std::filesystem;

TEST_CASE("ONNX's standard cases pass on the oracle, but for those that are listed with a reason") {
  const fs::path data = conformance::ExpectedCases::kFolder;
  if (!fs::exists(data)) SKIP_CASE("ONNX's test cases are not installed (libonnx-testdata)");
  const char* only = std::getenv("HEARTH_ONNX_CASE");
  conformance::ExpectedCases expected;
  for (const std::string& folder : find_cases(data.string())) {
    if (only != nullptr && fs::path(folder).filename() != only) continue;
    const CaseResult result = check_case(folder, evaluate);
    CHECK(expected.complaint(result.name, result.verdict, result.reason) == "");
  }
  if (only != nullptr) return;
  CHECK(expected.num_seen() == conformance::ExpectedCases::kNumCases);
  CHECK(expected.never_seen() == std::vector<std::string>{});
}

TEST_CASE("Silero VAD on the reference interpreter gives the reference probabilities") {
  const fs::path file = test::model_file("silero_vad_16k_op15.onnx");
  if (file.empty()) SKIP_CASE(test::no_model("silero_vad_16k_op15.onnx"));
  const auto samples = examples::read_wav(test::model_file("speech_16k.wav").string());
  REQUIRE(samples.ok());
  std::ifstream probabilities(test::model_file("silero_probs_speech_16k.txt"));
  const auto model = import_model(file.string(), {.input_shapes = {{"input", {1, 576}}, {"state", {2, 1, 128}}}});
  REQUIRE(model.ok());
  std::vector<float> window(576, 0.0F);
  std::map<std::string, Array> inputs = {{"state", {DType::kF32, {2, 1, 128}, std::string(1024, '\0')}},
                                         {"sr", {DType::kI64, {}, std::string("\x80\x3e\0\0\0\0\0\0", 8)}}};
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    std::copy(window.end() - 64, window.end(), window.begin());
    for (std::size_t i = 0; i < 512; ++i)
      window[64 + i] = static_cast<float>(samples->samples[chunk * 512 + i]) / 32768.0F;
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

TEST_CASE("small workloads match numpy on the reference interpreter") {
  const fs::path folder = test::made_models() / "bench";
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
    CHECK(difference(got->at(0), *want, {1e-5, 1e-6}).empty());
  }
}
