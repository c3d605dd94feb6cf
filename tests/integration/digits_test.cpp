// The shipped model on its held-out images, in two processes.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth_onnx.pb.h"
#include "tests/integration/place.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::integration;

namespace {

constexpr double kAccuracy = 0.97;
constexpr double kOutputTolerance = 1e-5;
constexpr std::size_t kReferenceBatch = 25;
constexpr double kColdLimitMs = 2000;  // on a quiet machine: printed here, checked in tests/bench

client::Array read(const fs::path& path) {
  absl::StatusOr<client::Array> array = client::read_npy(path.string());
  INFO(array.status().message());
  REQUIRE(array.ok());
  return *std::move(array);
}

template <class T>
T element(const client::Array& array, std::size_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// The largest difference of `output` [images, 10] to what the reference interpreter has for the first `count` images.
// It is slow, and images do not depend on each other: it runs the model on a few of them a thread.
double distance_to_reference(const std::string& model, const client::Array& images, const client::Array& output,
                             std::size_t count) {
  ::hearth_onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(model));
  REQUIRE(count % kReferenceBatch == 0);
  auto* type = proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(0)->set_dim_value(kReferenceBatch);
  const auto imported = hearth::onnx::import_model_bytes(proto.SerializeAsString(), "digits.onnx of a few images");
  INFO(imported.status().message());
  REQUIRE(imported.ok());

  const std::size_t image_bytes = images.bytes.size() / static_cast<std::size_t>(images.shape[0]);
  std::vector<absl::StatusOr<std::vector<hearth::onnx::Array>>> references(count / kReferenceBatch);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < references.size(); i = next++) {
      hearth::onnx::Array batch = images;
      batch.shape[0] = kReferenceBatch;
      batch.bytes = images.bytes.substr(i * kReferenceBatch * image_bytes, kReferenceBatch * image_bytes);
      references[i] = hearth::onnx::evaluate(*imported, {{"image", batch}});
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  double worst = 0;
  for (std::size_t i = 0; i < count * 10; ++i) {
    const auto& reference = references[i / (kReferenceBatch * 10)];
    INFO(reference.status().message());
    REQUIRE(reference.ok());
    const double apart =
        std::fabs(element<float>(output, i) - element<float>(reference->at(0), i % (kReferenceBatch * 10)));
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst;
}

}  // namespace

TEST_CASE("digits: accurate, as the reference interpreter has it, and compiled once for two processes", "[device]") {
  const fs::path folder = source_dir() / "examples" / "digits";
  const fs::path model = folder / "digits.onnx";
  const client::Array images = read(folder / "digits_images.npy"), labels = read(folder / "digits_labels.npy");

  Place place;
  nlohmann::json runs[2];
  client::Array outputs[2];
  for (int i = 0; i < 2; ++i) {
    const std::string out = place.file("out" + std::to_string(i));
    runs[i] = place.json({"hearth", "run", model, "--input", "image=" + (folder / "digits_images.npy").string(),
                          "--output-dir", out, "--json"});
    REQUIRE(runs[i]["outputs"].size() == 1);
    outputs[i] = read(runs[i]["outputs"][0]["file"].get<std::string>());
  }
  CHECK(runs[0]["compiled_kernels"] == runs[0]["kernels"]);
  CHECK(runs[0]["kernels"] > 0);
  CHECK(runs[1]["compiled_kernels"] == 0);
  CHECK(runs[1]["kernels"] == runs[0]["kernels"]);
  CHECK(runs[1]["plan_hit"] == true);
  CHECK(runs[1]["plan_key"] == runs[0]["plan_key"]);
  CHECK(outputs[0].bytes == outputs[1].bytes);

  const std::size_t count = static_cast<std::size_t>(labels.shape.at(0));
  REQUIRE(outputs[0].shape == std::vector<std::int64_t>{labels.shape[0], 10});
  std::size_t right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < 10; ++c) {
      if (element<float>(outputs[0], i * 10 + c) > element<float>(outputs[0], i * 10 + best)) best = c;
    }
    right += static_cast<std::int64_t>(best) == element<std::int64_t>(labels, i) ? 1 : 0;
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(count);
  CHECK(accuracy >= kAccuracy);

  const std::size_t compared = sanitized() ? kReferenceBatch : count;
  const double worst = distance_to_reference(content(model), images, outputs[0], compared);
  CHECK(worst <= kOutputTolerance);
  std::cout << "digits: accuracy " << 100 * accuracy << " %, largest difference to the reference interpreter " << worst
            << " over " << compared << " images"
            << "; process 1 compiled " << runs[0]["compiled_kernels"] << " of " << runs[0]["kernels"]
            << " kernels, prepare " << runs[0]["prepare_ms"] << " ms (cold, at most " << kColdLimitMs
            << " wanted); process 2 compiled " << runs[1]["compiled_kernels"] << ", prepare " << runs[1]["prepare_ms"]
            << " ms, RPC " << runs[1]["rpc_ms"] << " ms; outputs bit-identical\n";
}

TEST_CASE("digits: the example program says the same", "[device]") {
  const fs::path folder = source_dir() / "examples" / "digits";
  Place place;
  const Ran ran = place.run({"digits", "--model", folder / "digits.onnx", "--images", folder / "digits_images.npy",
                             "--labels", folder / "digits_labels.npy", "--out", place.file("p.npy")});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const std::size_t at = ran.out.find("accuracy");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(ran.out.substr(at + 8)) >= 100 * kAccuracy);
  CHECK(read(place.file("p.npy")).shape.at(1) == 10);
}
