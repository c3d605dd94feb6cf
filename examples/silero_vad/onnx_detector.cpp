#include <algorithm>
#include <cstring>
#include <utility>

#include "examples/silero_vad/detector.h"
#include "examples/silero_vad/wav.h"
#include "hearth/onnx.h"

namespace hearth::examples {
namespace {

constexpr std::size_t kState = 2 * 1 * 128;

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

class OnnxDetector : public Detector {
 public:
  OnnxDetector(client::PreparedPlan plan, client::Instance instance, const Framing& framing)
      : plan_(std::move(plan)), instance_(std::move(instance)), framing_(framing) {}

  absl::Status bind() {
    const auto samples = input_memory(instance_, plan_, "input", framing_.input() * sizeof(float));
    if (!samples.ok()) return samples.status();
    const auto state = input_memory(instance_, plan_, "state", kState * sizeof(float));
    if (!state.ok()) return state.status();
    if (*samples == nullptr || *state == nullptr) return absl::InvalidArgumentError("the model is not Silero VAD");
    samples_ = {static_cast<float*>(*samples), framing_.input()};
    state_ = static_cast<float*>(*state);
    return absl::OkStatus();
  }

  absl::StatusOr<float> next(Chunk chunk) override {
    shift_in(chunk, framing_, samples_);
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
  client::PrepareStats stats() const override { return plan_.stats(); }

 private:
  client::PreparedPlan plan_;
  client::Instance instance_;
  Framing framing_;
  std::span<float> samples_;  // the instance's own input buffers
  float* state_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Detector>> load_onnx_detector(const std::string& path, const Framing& framing,
                                                             int threads) {
  client::connect_early();  // while the model is read
  // The rate chooses between two networks in one file: it is part of the graph.
  const onnx::ImportOptions options = {
      .input_shapes = {{"input", {1, static_cast<std::int64_t>(framing.input())}}, {"state", {2, 1, 128}}},
      .constants = {{"sr", client::array_of(std::vector<std::int64_t>{framing.rate}, {})}}};
  const auto imported = onnx::import_model(path, options);
  if (!imported.ok()) return imported.status();
  auto config = client::PrepareConfig::from_env();  // HEARTH_DEVICE and others
  if (!config.ok()) return config.status();
  config->threads = threads;
  config->fixed_inputs = imported->fixed_inputs;
  auto plan = client::prepare(imported->outputs, *config);
  if (!plan.ok()) return plan.status();
  auto instance = plan->instantiate();
  if (!instance.ok()) return instance.status();
  auto detector = std::make_unique<OnnxDetector>(*std::move(plan), *std::move(instance), framing);
  if (absl::Status bound = detector->bind(); !bound.ok())
    return absl::Status(bound.code(), path + ": " + std::string(bound.message()));
  return detector;
}

}  // namespace hearth::examples
