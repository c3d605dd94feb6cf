// digits: classifies handwritten digits with a small convolution network through hearthd.
//
//   digits --model digits.onnx --images digits_images.npy --labels digits_labels.npy --out probability.npy
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "examples/common/example_program.h"
#include "examples/common/process_clock.h"
#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"

namespace {

using hearth::DType;
using hearth::str_cat;
using hearth::client::Array;

struct Flags {
  std::string model;
  std::string images;
  std::string labels;
  std::string out;
  int threads = 0;
};

struct Data {
  Array images;
  Array labels;
};

absl::StatusOr<Data> read_data(const Flags& flags) {
  auto images = hearth::client::read_npy(flags.images);
  if (!images.ok()) return images.status();
  auto labels = hearth::client::read_npy(flags.labels);
  if (!labels.ok()) return labels.status();
  if (images->dtype != DType::kF32 || images->shape.empty() || images->shape[0] == 0) {
    return absl::InvalidArgumentError(str_cat(flags.images, ": expected f32 images [N, ...]"));
  }
  if (labels->dtype != DType::kI64 || labels->shape.size() != 1 || labels->shape[0] != images->shape[0]) {
    return absl::InvalidArgumentError(str_cat(flags.labels, ": expected ", images->shape[0], " i64 labels"));
  }
  return Data{*std::move(images), *std::move(labels)};
}

// How many rows of `probability` [N, classes] have their largest value at the label.
std::int64_t count_right(const float* probability, std::int64_t classes, const Array& labels) {
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < labels.shape[0]; ++i) {
    std::int64_t label = 0;
    std::memcpy(&label, labels.bytes.data() + static_cast<std::size_t>(i) * sizeof(label), sizeof(label));
    const float* row = probability + i * classes;
    right += std::max_element(row, row + classes) - row == label ? 1 : 0;
  }
  return right;
}

absl::Status run(const Flags& flags) {
  hearth::client::connect_early();  // while data and model are read
  const auto data = read_data(flags);
  if (!data.ok()) return data.status();
  const auto peek = hearth::onnx::import_model(flags.model);
  if (!peek.ok()) return peek.status();
  if (peek->inputs.size() != 1 || peek->results.size() != 1 || peek->inputs[0].shape != data->images.shape) {
    return absl::InvalidArgumentError(str_cat(flags.model, ": does not take the images of ", flags.images));
  }
  auto config = hearth::client::PrepareConfig::from_env();  // HEARTH_DEVICE and others
  if (!config.ok()) return config.status();
  config->threads = flags.threads;
  const auto plan = hearth::client::prepare(peek->outputs, *config);
  if (!plan.ok()) return plan.status();
  auto instance = plan->instantiate();
  if (!instance.ok()) return instance.status();
  const std::string& images = data->images.bytes;
  absl::Status ran = instance->bind_input(peek->inputs[0].name, images.data(), images.size());
  if (!ran.ok()) return ran;
  const auto start = std::chrono::steady_clock::now();
  ran = instance->execute();
  if (!ran.ok()) return ran;
  const double replay_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  const double first_ms = hearth::examples::milliseconds_since_process_start();
  const auto result = instance->output(peek->results[0].name);
  if (!result.ok()) return result.status();
  if (result->dtype != DType::kF32 || result->shape.size() != 2 || result->shape[0] != data->labels.shape[0]) {
    return absl::InvalidArgumentError(str_cat(flags.model, ": its output is not f32 [images, classes]"));
  }
  if (!flags.out.empty()) {
    absl::Status saved =
        hearth::client::write_npy(flags.out, result->dtype, result->shape, result->data, result->size_bytes);
    if (!saved.ok()) return saved;
  }
  const std::int64_t total = data->labels.shape[0];
  const std::int64_t right = count_right(static_cast<const float*>(result->data), result->shape[1], data->labels);
  const auto& stats = plan->stats();
  std::printf("accuracy        %.2f %% (%lld of %lld held-out images)\n",
              100.0 * static_cast<double>(right) / static_cast<double>(total), static_cast<long long>(right),
              static_cast<long long>(total));
  std::printf("kernels         %u, %u compiled now\n", stats.kernels, stats.compiled_kernels);
  std::printf("prepare         %.1f ms (RPC %.2f ms)\n", stats.prepare_ms, stats.rpc_ms);
  std::printf("replay          %.1f us for all images\n", replay_us);
  std::printf("process start to first result  %.0f ms\n", first_ms);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Classifies handwritten digits through hearthd.", "digits");
  Flags flags;
  app.add_option("--model", flags.model, "digits.onnx")->required();
  app.add_option("--images", flags.images, "f32 images [N, 1, 8, 8]")->required();
  app.add_option("--labels", flags.labels, "i64 labels [N]")->required();
  app.add_option("--out", flags.out, "Write the probabilities here (.npy)");
  app.add_option("--threads", flags.threads, "Threads of the replay; 0: every CPU");
  return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
}
