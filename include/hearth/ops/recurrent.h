// Recurrent layers of one direction, as loops over time, and their cells. x is [T, N, I] with T at least 1, y [T, N, H]
// in time order, a state [N, H]. Empty tensors mean "none". Gate equations: ONNX's RNN, GRU and LSTM. Errors: JitError.
//
//   LstmResult result = lstm(x, {h, c}, w, r, b, {.order = GateOrder::kInputOutputForgetCell});
#pragma once
#include "hearth/ops/activation.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct RecurrentConfig {
  bool reverse = false;    // from the end to the begin of time
  Tensor lengths = {};     // [N] integers: an item's steps; later ones leave its state alone and give 0
  double clip = 0;         // bounds what every activation is given to [-clip, clip]; 0: no bound
  Activation gate = {};    // sigmoid
  Activation cell = {};    // tanh
  Activation hidden = {};  // tanh; of LSTM only
};

struct RecurrentResult {
  Tensor y;
  Tensor last;
};
// h' = cell(w x + r h + b): w [H, I], r [H, H], b [H].
RecurrentResult rnn(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& b = {},
                    const RecurrentConfig& config = {}, Loc loc = Loc::current());

// One step of a GRU: x [N, I], w [3H, I], r [3H, H], bw and br [3H]; gate blocks z, r, h as in ONNX.
// `linear_before_reset` as in ONNX (PyTorch: true).
Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw, const Tensor& br,
                bool linear_before_reset, Loc loc = Loc::current());
RecurrentResult gru(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw,
                    const Tensor& br, bool linear_before_reset, const RecurrentConfig& config = {},
                    Loc loc = Loc::current());

// Order of the four gate blocks in w, r and b.
enum class GateOrder {
  kInputForgetCellOutput,  // PyTorch
  kInputOutputForgetCell,  // ONNX
};
struct LstmTensors {
  Tensor h;
  Tensor c;
};
// One step: x [N, I], w [4H, I], r [4H, H], b [4H].
LstmTensors lstm_cell(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                      GateOrder order, Loc loc = Loc::current());

struct LstmConfig {
  GateOrder order = GateOrder::kInputForgetCellOutput;
  Tensor peepholes = {};      // [3H]: what of c the input, output and forget gates see, in this order
  bool input_forget = false;  // the forget gate is 1 - the input gate
  RecurrentConfig steps = {};
  // What stands in place of x w^T [T, N, 4H] and h r^T [N, 4H], such as products of quantised values; w and r are empty
  // then.
  Activation input_product = {};
  Activation hidden_product = {};
};
struct LstmResult {
  Tensor y;
  LstmTensors last;
};
LstmResult lstm(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                const LstmConfig& config = {}, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
