#include "examples/silero_vad/detector.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/onnx/importer.h"
#include "examples/silero_vad/wav.h"

namespace hearth::examples {
namespace {

constexpr std::int64_t kInput = Detector::kContext + Detector::kChunk;

// The memory of input `name`, zeroed, when it has the expected size; null when the plan does not read it.
absl::StatusOr<void*> input_memory(client::Instance& instance, const client::PreparedPlan& plan, const char* name,
                                   std::size_t size_bytes) {
  const auto& inputs = plan.inputs();
  const bool read = std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name == name; });
  if (!read) return nullptr;
  const auto view = instance.input(name);
  if (!view.ok()) return view.status();
  if (view->size_bytes != size_bytes) {
    return absl::InvalidArgumentError(std::string("the model's input '") + name + "' is not Silero VAD's");
  }
  std::memset(view->data, 0, size_bytes);
  return view->data;
}

}  // namespace

Detector::Detector(client::PreparedPlan plan, client::Instance instance)
    : plan_(std::move(plan)), instance_(std::move(instance)) {}

absl::StatusOr<Detector> Detector::load(const std::string& model, int threads) {
  client::connect_early();  // while the model is read
  const onnx::ImportOptions shapes = {.input_shapes = {{"input", {1, kInput}}, {"state", {2, 1, 128}}}};
  const auto imported = onnx::import_model(model, shapes);
  if (!imported.ok()) return imported.status();
  auto plan = client::prepare(imported->outputs, {.threads = threads});
  if (!plan.ok()) return plan.status();
  auto instance = plan->instantiate();
  if (!instance.ok()) return instance.status();
  Detector detector(*std::move(plan), *std::move(instance));
  if (absl::Status bound = detector.bind(); !bound.ok())
    return absl::Status(bound.code(), model + ": " + std::string(bound.message()));
  return detector;
}

absl::Status Detector::bind() {
  const auto samples = input_memory(instance_, plan_, "input", kInput * sizeof(float));
  if (!samples.ok()) return samples.status();
  const auto state = input_memory(instance_, plan_, "state", kState * sizeof(float));
  if (!state.ok()) return state.status();
  const auto rate = input_memory(instance_, plan_, "sr", sizeof(std::int64_t));
  if (!rate.ok()) return rate.status();
  if (*samples == nullptr || *state == nullptr) return absl::InvalidArgumentError("the model is not Silero VAD");
  samples_ = static_cast<float*>(*samples);
  state_ = static_cast<float*>(*state);
  if (*rate != nullptr) *static_cast<std::int64_t*>(*rate) = kSampleRate;
  return absl::OkStatus();
}

absl::StatusOr<float> Detector::next(std::span<const std::int16_t, kChunk> chunk) {
  // The end of the last input is the context of this one.
  std::copy(samples_ + kChunk, samples_ + kInput, samples_);
  std::transform(chunk.begin(), chunk.end(), samples_ + kContext,
                 [](std::int16_t sample) { return static_cast<float>(sample) / 32768.0F; });
  if (absl::Status ran = instance_.execute(); !ran.ok()) return ran;
  const auto state = instance_.output("stateN");
  if (!state.ok()) return state.status();
  const auto probability = instance_.output("output");
  if (!probability.ok()) return probability.status();
  if (state->size_bytes != kState * sizeof(float) || probability->size_bytes != sizeof(float)) {
    return absl::InvalidArgumentError("the model's outputs are not Silero VAD's");
  }
  std::memcpy(state_, state->data, state->size_bytes);
  return *static_cast<const float*>(probability->data);
}

}  // namespace hearth::examples
