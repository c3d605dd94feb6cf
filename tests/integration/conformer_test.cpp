// The example Conformer: a layer with a workload's weights (tests/models) against numpy, and one plan for every batch
// and time against plans of exact shapes.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "client/onnx/model_file.h"
#include "examples/conformer/conformer.h"
#include "hearth/npy.h"
#include "hearth_onnx.pb.h"
#include "tests/integration/live_daemon.h"
#include "tests/support/model_files.h"
#include "tests/support/sanitizer.h"
#include "tests/support/skip.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::examples;
using hearth::integration::LiveDaemon;

namespace {

constexpr double kConformerTolerance = 1e-5;

// The workload's initializers, which have the example's names.
class BenchmarkWeights {
 public:
  explicit BenchmarkWeights(const std::string& path) : model_(*hearth::onnx::read_model(path)) {
    for (const ::hearth_onnx::TensorProto& tensor : model_->proto().graph().initializer()) add(tensor.name(), tensor);
    // One norm's weights serve all five.
    for (const ::hearth_onnx::TensorProto& tensor : model_->proto().graph().initializer()) {
      if (tensor.name().rfind("n.0.", 0) != 0) continue;
      for (const char* norm : {"n.1.", "n.2.", "n.3.", "n.4."}) add(norm + tensor.name().substr(4), tensor);
    }
  }
  Weights weights() const {
    const std::string header = header_.dump();
    const std::uint64_t length = header.size();
    const auto file = std::make_shared<const std::string>(
        std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data_);
    auto parsed = Safetensors::parse(*file, "the benchmark's weights", file);
    if (!parsed.ok()) throw std::runtime_error(std::string(parsed.status().message()));
    return Weights::of(*std::move(parsed));
  }

 private:
  void add(const std::string& name, const ::hearth_onnx::TensorProto& tensor) {
    const auto array = hearth::onnx::to_host_tensor(tensor, model_);
    header_[name] = {
        {"dtype", "F32"}, {"shape", array.shape()}, {"data_offsets", {data_.size(), data_.size() + array.bytes()}}};
    data_.append(array.data(), array.bytes());
  }
  hearth::onnx::ModelFilePtr model_;
  nlohmann::json header_;
  std::string data_;
};

std::vector<float> floats_of(const ConstView& view) {
  const auto* data = static_cast<const float*>(view.data);
  return {data, data + view.size_bytes / sizeof(float)};
}

// Of the largest magnitude of `want`.
double difference(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  double largest = 0;
  double scale = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (!(apart <= largest)) largest = apart;
    scale = std::max(scale, std::fabs(static_cast<double>(want[i])));
  }
  return largest / scale;
}

ConformerConfig small() {
  return {
      .mels = 8, .width = 16, .heads = 2, .expansion = 2, .kernel = 7, .layers = 1, .max_batch = 3, .max_frames = 60};
}

// mel [b, mels, t] of seeded values, laid into the plan's input as its first b sequences and t frames.
void write_mel(const MutableView& view, std::int64_t batch, std::int64_t frames, std::uint32_t seed) {
  std::mt19937 random(seed);
  auto* data = static_cast<float*>(view.data);
  std::fill(data, data + view.size_bytes / sizeof(float), 1e3F);  // what lies outside must not be seen
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t m = 0; m < view.shape[1]; ++m) {
      float* row = data + (b * view.shape[1] + m) * view.shape[2];
      for (std::int64_t t = 0; t < frames; ++t) row[t] = static_cast<float>(random() >> 8) / (1 << 23) - 1;
    }
  }
}

void write_lengths(const MutableView& view, std::int64_t frames) {
  auto* data = static_cast<std::int64_t*>(view.data);
  std::fill(data, data + view.size_bytes / sizeof(std::int64_t), frames);
}

}  // namespace

TEST_CASE("a layer of the example Conformer with the workload's weights gives numpy's outputs") {
  const auto folder = test::made_models() / "bench";
  const LiveDaemon daemon;
  const std::string name = (folder / "conformer_d256_h4_t256_dynamic").string();
  const Conformer model(ConformerConfig(), BenchmarkWeights(name + ".onnx").weights());
  const Dim b = Dim::variable("b", 1, 4);
  const Dim t = Dim::variable("t", 1, 256);
  const Tensor x = input("x", {b, t, 256}, DType::kF32);
  const auto plan = prepare({{"out", model.layer(x, {}, "")}}, daemon.config());
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto instance = plan->instantiate();
  REQUIRE(instance.ok());
  for (const std::string shape : {"1x256x256", "1x100x256", "3x37x256"}) {
    const auto in = read_npy(name + "." + shape + ".in.in0.npy");
    const auto out = read_npy(name + "." + shape + ".out.out.npy");
    REQUIRE((in.ok() && out.ok()));
    REQUIRE(instance->set_var("b", in->shape[0]).ok());
    REQUIRE(instance->set_var("t", in->shape[1]).ok());
    REQUIRE(instance->bind_input("x", in->bytes.data(), in->bytes.size()).ok());
    REQUIRE(instance->execute().ok());
    const auto got = instance->output("out");
    REQUIRE(got.ok());
    CHECK(got->shape == out->shape);
    const auto want = out->elements<float>();
    REQUIRE(want.ok());
    const double apart = difference(floats_of(*got), {want->begin(), want->end()});
    std::cout << "Conformer layer " << shape << ": largest difference " << apart << " of the largest value\n";
    CHECK(apart <= kConformerTolerance);
  }
}

TEST_CASE("one plan of the example Conformer equals those of exact shapes, and compiles nothing more", "[exact]") {
  LiveDaemon daemon;
  const Weights weights = Weights::seeded(3);
  const ConformerJit wrapper(Conformer(small(), weights));
  const ConformerConfig bounds = small();
  auto jit = wrapper.prepare_with_config(InputSpec::f32({bounds.max_batch, bounds.mels, bounds.max_frames}),
                                         InputSpec::i64({bounds.max_batch}), daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  const auto mel = jit->mel_mut();
  const auto lengths = jit->lengths_mut();
  REQUIRE((mel.ok() && lengths.ok()));
  std::mt19937 random(11);
  std::vector<std::pair<std::int64_t, std::int64_t>> points = {{1, 1}, {3, 60}, {1, 60}, {3, 1}, {2, 5}};
  const std::size_t num_points = test::kSanitizer ? 12 : 50;
  while (points.size() < num_points) points.emplace_back(1 + random() % 3, 1 + random() % 60);
  const auto before = daemon.place().stats();
  std::vector<std::vector<float>> results;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [b, t] = points[i];
    write_mel(*mel, b, t, static_cast<std::uint32_t>(i));
    write_lengths(*lengths, t);
    REQUIRE(jit->execute_with_vars({{"b", b}, {"t", t}}).ok());
    CHECK(jit->output()->shape == std::vector<std::int64_t>{b, bounds.width, Conformer::encoded_length(t).value()});
    results.push_back(floats_of(*jit->output()));
  }
  const auto after = daemon.place().stats();
  for (const char* counter : {"requests", "kernels_compiled", "kernel_hits"}) CHECK(after[counter] == before[counter]);
  double largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [b, t] = points[i];
    CAPTURE(b, t);
    auto exact = wrapper.with_b_fixed(b).with_t_fixed(t).prepare_with_config(InputSpec::f32({b, bounds.mels, t}),
                                                                             InputSpec::i64({b}), daemon.config());
    INFO(exact.status().message());
    REQUIRE(exact.ok());
    write_mel(*exact->mel_mut(), b, t, static_cast<std::uint32_t>(i));
    write_lengths(*exact->lengths_mut(), t);
    REQUIRE(exact->execute().ok());
    largest = std::max(largest, difference(results[i], floats_of(*exact->output())));
  }
  std::cout << "Conformer over " << num_points << " (b, t): largest difference to exact plans " << largest
            << " of the largest value\n";
  CHECK(largest <= kConformerTolerance);
}

TEST_CASE("what lies behind a sequence's end is not seen by it") {
  const LiveDaemon daemon;
  const ConformerConfig bounds = small();
  const ConformerJit wrapper(Conformer({.mels = bounds.mels,
                                        .width = bounds.width,
                                        .heads = 2,
                                        .expansion = 2,
                                        .kernel = 1,
                                        .layers = 1,
                                        .max_batch = 1,
                                        .max_frames = 60},
                                       Weights::seeded(3)));
  auto jit = wrapper.prepare_with_config(InputSpec::f32({1, bounds.mels, 60}), InputSpec::i64({1}), daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  // The first 5 encoded frames hear mel frames 0 to 19; what lies from 24 on reaches them through attention alone.
  const auto first_frames = [&](float tail, std::int64_t length) {
    write_mel(*jit->mel_mut(), 1, 60, 5);
    auto* data = static_cast<float*>(jit->mel_mut()->data);
    for (std::int64_t m = 0; m < bounds.mels; ++m) std::fill(data + m * 60 + 24, data + (m + 1) * 60, tail);
    write_lengths(*jit->lengths_mut(), length);
    REQUIRE(jit->execute().ok());
    const std::vector<float> encoded = floats_of(*jit->output());  // [1, width, 15]
    std::vector<float> first;
    for (std::int64_t i = 0; i < 5 * bounds.width; ++i)
      first.push_back(encoded[static_cast<std::size_t>(i / 5 * 15 + i % 5)]);
    return first;
  };
  CHECK(difference(first_frames(3, 24), first_frames(-7, 24)) <= 1e-6);
  CHECK(difference(first_frames(3, 60), first_frames(-7, 60)) > 1e-3);
}
