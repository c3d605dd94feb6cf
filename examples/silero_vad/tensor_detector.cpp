#include "examples/silero_vad/detector.h"
#include "examples/silero_vad/model.h"
#include "hearth/jit_recurrent.h"

namespace hearth::examples {
namespace {

using client::InputSpec;
using client::JitRecurrent;
using client::LstmState;
using Jit = SileroVadJit::Prepared;

class TensorDetector : public Detector {
 public:
  TensorDetector(JitRecurrent<Jit> recurrent, client::PrepareStats stats)
      : recurrent_(std::move(recurrent)), stats_(std::move(stats)) {}

  absl::StatusOr<float> next(Chunk chunk) override {
    shift_in(chunk, Framing(), samples_);
    const auto head = recurrent_.step([&](Jit& jit) { return client::copy_into(jit.chunk_mut(), samples_); });
    if (!head.ok()) return head.status();
    return head->front();
  }
  client::PrepareStats stats() const override { return stats_; }

 private:
  JitRecurrent<Jit> recurrent_;
  client::PrepareStats stats_;
  std::vector<float> samples_ = std::vector<float>(SileroVad::kInput, 0);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Detector>> load_tensor_detector(const std::string& path, const Framing& framing,
                                                               int threads) {
  if (framing.rate != Framing().rate) {
    return absl::InvalidArgumentError(path + ": holds the weights for 16000 Hz alone");
  }
  auto vad = SileroVad::load(path);
  if (!vad.ok()) return vad.status();
  auto config = client::PrepareConfig::from_env();  // HEARTH_DEVICE and others
  if (!config.ok()) return config.status();
  config->threads = threads;
  const InputSpec state = InputSpec::f32({1, SileroVad::kHidden});
  auto jit =
      SileroVadJit(*std::move(vad)).prepare_with_config(InputSpec::f32({1, SileroVad::kInput}), state, state, *config);
  if (!jit.ok()) return jit.status();
  auto stats = jit->stats();
  if (!stats.ok()) return stats.status();
  auto recurrent = JitRecurrent<Jit>::make(*std::move(jit), LstmState::zeros(SileroVad::kHidden), 1);
  if (!recurrent.ok()) return recurrent.status();
  return std::make_unique<TensorDetector>(*std::move(recurrent), *std::move(stats));
}

}  // namespace hearth::examples
