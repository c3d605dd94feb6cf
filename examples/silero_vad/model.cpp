#include "examples/silero_vad/model.h"

#include "hearth/ops.h"

namespace hearth::examples {

using namespace hearth::client;

absl::StatusOr<SileroVad> SileroVad::load(const std::string& path) {
  absl::StatusOr<Safetensors> weights = Safetensors::open(path);
  if (!weights.ok()) return weights.status();
  return SileroVad(*std::move(weights));
}

Tensor SileroVad::convolve(const Tensor& x, const std::string& layer, std::int64_t stride, std::int64_t pad) const {
  return relu(conv(x, weights_.parameter(layer + ".weight"), weights_.parameter(layer + ".bias"),
                   {.strides = {stride}, .pads_begin = {pad}, .pads_end = {pad}}));
}

Tensor SileroVad::forward_chunk(const Tensor& chunk, const Tensor& h, const Tensor& c) const {
  // Magnitudes of a short-time Fourier transform, as a convolution with sines and cosines.
  const Tensor samples = unsqueeze(pad_reflect(chunk, {0, 0}, {0, 64}), {1});
  const Tensor spectrum = conv(samples, weights_.parameter("stft_conv.weight"), {}, {.strides = {128}});
  const Tensor real = slice(spectrum, {{.axis = 1, .begin = 0, .end = 129}});
  const Tensor imaginary = slice(spectrum, {{.axis = 1, .begin = 129}});
  Tensor x = sqrt(square(real) + square(imaginary));
  x = convolve(x, "conv1", 1, 1);
  x = convolve(x, "conv2", 2, 1);
  x = convolve(x, "conv3", 2, 1);
  x = convolve(x, "conv4", 1, 1);  // [1, 128, 1]
  const Tensor bias = weights_.parameter("lstm_cell.bias_ih") + weights_.parameter("lstm_cell.bias_hh");
  const auto [next_h, next_c] =
      lstm_cell(squeeze(x, {2}), {h, c}, weights_.parameter("lstm_cell.weight_ih"),
                weights_.parameter("lstm_cell.weight_hh"), bias, GateOrder::kInputForgetCellOutput);
  const Tensor logit = conv(unsqueeze(relu(next_h), {2}), weights_.parameter("final_conv.weight"),
                            weights_.parameter("final_conv.bias"));
  const Tensor probability = sigmoid(mean(logit, {2}));
  return cat({probability, next_h, next_c}, 1);
}

absl::Status pack_state(SileroVadJit::Prepared& jit, const LstmState& state) {
  if (absl::Status packed = copy_into(jit.state_h_mut(), state.h); !packed.ok()) return packed;
  return copy_into(jit.state_c_mut(), state.c);
}

}  // namespace hearth::examples
