#include "examples/conformer/transducer.h"

#include <algorithm>

#include "hearth/ops.h"

namespace hearth::examples {

using namespace hearth::client;

Tensor Transducer::predict(const Tensor& token, const Tensor& h, const Tensor& c) const {
  const std::int64_t hidden = config_.hidden, blank = config_.classes - 1;
  const Tensor table = weight("embedding.weight", {config_.classes, hidden});
  const Tensor known = embedding(table, token);
  const Tensor x = where(reshape(less(token, blank), {1, 1}), known, 0.0);
  const LstmTensors next = lstm_cell(x, {h, c}, weight("lstm.weight_ih", {4 * hidden, hidden}),
                                     weight("lstm.weight_hh", {4 * hidden, hidden}), weight("lstm.bias", {4 * hidden}),
                                     GateOrder::kInputForgetCellOutput);
  return cat({next.h, next.h, next.c}, 1);
}

Tensor Transducer::join(const Tensor& frame, const Tensor& prediction) const {
  const auto project = [this](const Tensor& x, const std::string& name, std::int64_t width) {
    return matmul(x, weight(name + ".weight", {x.dim(-1), width})) + weight(name + ".bias", {width});
  };
  const Tensor mixed =
      relu(project(frame, "joint.encoder", config_.joint) + project(prediction, "joint.predictor", config_.joint));
  return log_softmax(project(mixed, "joint.out", config_.classes));
}

absl::Status pack_state(PredictorJit::Prepared& jit, const LstmState& state) {
  if (absl::Status packed = copy_into(jit.state_h_mut(), state.h); !packed.ok()) return packed;
  return copy_into(jit.state_c_mut(), state.c);
}

absl::StatusOr<GreedyTransducer> GreedyTransducer::make(const Transducer& model, const PrepareConfig& config) {
  const TransducerConfig& sizes = model.config();
  const InputSpec state = InputSpec::f32({1, sizes.hidden});
  auto predictor = PredictorJit(model).prepare_with_config(InputSpec::i64({1}), state, state, config);
  if (!predictor.ok()) return predictor.status();
  const auto hidden = static_cast<std::size_t>(sizes.hidden);
  auto recurrent = Predictor::make(*std::move(predictor), LstmState::zeros(hidden), hidden);
  if (!recurrent.ok()) return recurrent.status();
  auto joint = JointJit(model).prepare_with_config(InputSpec::f32({1, sizes.width}), state, config);
  if (!joint.ok()) return joint.status();
  return GreedyTransducer(sizes, *std::move(recurrent), *std::move(joint));
}

absl::Status GreedyTransducer::predict(std::int64_t token) {
  const auto prediction = predictor_.step(
      [&](PredictorJit::Prepared& jit) { return copy_into(jit.token_mut(), std::vector<std::int64_t>{token}); });
  return prediction.ok() ? copy_into(joint_.prediction_mut(), *prediction) : prediction.status();
}

absl::StatusOr<std::int64_t> GreedyTransducer::likeliest(std::span<const float> frame) {
  if (absl::Status written = copy_into(joint_.frame_mut(), frame); !written.ok()) return written;
  if (absl::Status ran = joint_.execute(); !ran.ok()) return ran;
  const auto output = joint_.output();
  if (!output.ok()) return output.status();
  const auto log_probabilities = output->as<float>();
  if (!log_probabilities.ok()) return log_probabilities.status();
  return std::ranges::max_element(*log_probabilities) - log_probabilities->begin();
}

absl::StatusOr<std::vector<std::int64_t>> GreedyTransducer::decode(const ConstView& encoded, std::int64_t sequence,
                                                                   std::int64_t frames) {
  const auto values = encoded.as<float>();
  if (!values.ok()) return values.status();
  const std::int64_t width = config_.width, blank = config_.classes - 1;
  if (encoded.shape.size() != 3 || encoded.shape[1] != width || sequence < 0 || sequence >= encoded.shape[0] ||
      frames > encoded.shape[2])
    return absl::InvalidArgumentError("decode: these frames are not within what is encoded");
  const std::int64_t total = encoded.shape[2];
  std::vector<float> frame(static_cast<std::size_t>(width));
  std::vector<std::int64_t> tokens;
  predictor_.reset();
  if (absl::Status begun = predict(blank); !begun.ok()) return begun;
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int64_t i = 0; i < width; ++i)
      frame[static_cast<std::size_t>(i)] = (*values)[static_cast<std::size_t>((sequence * width + i) * total + t)];
    for (std::int64_t emitted = 0; emitted < config_.max_symbols; ++emitted) {
      const auto token = likeliest(frame);
      if (!token.ok()) return token.status();
      if (*token == blank) break;
      tokens.push_back(*token);
      if (absl::Status moved = predict(*token); !moved.ok()) return moved;
    }
  }
  return tokens;
}

}  // namespace hearth::examples
