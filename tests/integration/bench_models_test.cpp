// Workloads (tests/models) against numpy in f64, through `hearth run`.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "hearth/npy.h"
#include "tests/integration/place.h"
#include "tests/support/model_files.h"

using namespace hearth;
using namespace hearth::integration;

namespace {

// Of the largest value of the output: what a sound f32 implementation with another order of summation differs by.
constexpr double kBenchTolerance = 1e-5;

client::Array read_array(const fs::path& path) {
  absl::StatusOr<client::Array> array = client::read_npy(path.string());
  INFO(array.status().message());
  REQUIRE(array.ok());
  return *std::move(array);
}

// Largest difference over largest value.
double greatest_difference(const client::Array& got, const client::Array& want) {
  REQUIRE(got.dtype == DType::kF32);
  REQUIRE(want.dtype == DType::kF32);
  REQUIRE(got.shape == want.shape);
  REQUIRE(got.bytes.size() == want.bytes.size());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.bytes.size(); i += sizeof(float)) {
    float a, b;
    std::memcpy(&a, got.bytes.data() + i, sizeof a);
    std::memcpy(&b, want.bytes.data() + i, sizeof b);
    const double apart = std::fabs(static_cast<double>(a) - static_cast<double>(b));
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
    largest = std::max(largest, std::fabs(static_cast<double>(b)));
  }
  return worst / largest;
}

// A model and one set of its arrays: STEM.in.NAME.npy, STEM.out.NAME.npy.
struct Case {
  const char* model;
  const char* stem;
};
constexpr Case kCases[] = {
    {"tiny10_1K", "tiny10_1K"},
    {"mlp_b64", "mlp_b64"},
    {"attention_h8_t512_d64", "attention_h8_t512_d64"},
    {"conv2d_3x3_64_56", "conv2d_3x3_64_56"},
    {"dwconv1d_k31_c512_t1024", "dwconv1d_k31_c512_t1024"},
    {"conformer_d256_h4_t256", "conformer_d256_h4_t256"},
    {"conformer_d256_h4_t256_dynamic", "conformer_d256_h4_t256_dynamic.1x256x256"},
    {"conformer_d256_h4_t256_dynamic", "conformer_d256_h4_t256_dynamic.1x100x256"},
    {"conformer_d256_h4_t256_dynamic", "conformer_d256_h4_t256_dynamic.3x37x256"},
};

}  // namespace

TEST_CASE("workloads: numpy's outputs", "[device]") {
  const fs::path folder = hearth::test::made_models() / "bench";
  Place place;
  for (const Case& test : kCases) {
    const std::string stem = test.stem;
    std::vector<std::string> words = {"hearth", "run",          folder / (std::string(test.model) + ".onnx"),
                                      "--json", "--output-dir", place.file(stem)};
    int inputs = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string(), prefix = stem + ".in.";
      if (file.rfind(prefix, 0) != 0) continue;
      const std::string name = file.substr(prefix.size(), file.size() - prefix.size() - std::strlen(".npy"));
      words.insert(words.end(), {"--input", name + "=" + entry.path().string()});
      ++inputs;
    }
    CHECK(inputs > 0);
    const Ran ran = place.run(words);
    INFO(stem << ": " << ran.err);
    CHECK(ran.code == 0);
    if (ran.code != 0) continue;
    const auto json = nlohmann::json::parse(ran.out);
    for (const auto& output : json["outputs"]) {
      const std::string name = output["name"];
      const client::Array want = read_array(folder / (stem + ".out." + name + ".npy"));
      const double apart = greatest_difference(read_array(output["file"].get<std::string>()), want);
      CHECK(apart <= kBenchTolerance);
      std::cout << stem << ": " << name << " differs by " << apart << " of its largest value; " << json["kernels"]
                << " kernels, " << json["compiled_kernels"] << " compiled, prepare " << json["prepare_ms"]
                << " ms, replay " << json["replay_us"]["min"] << " us\n";
    }
    CHECK(json["outputs"].size() > 0);
  }
}
