// RNN, GRU and LSTM, as loops over time.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/narrow_weights.h"
#include "client/onnx/operators.h"
#include "client/onnx/quantized_products.h"
#include "client/onnx/reject.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/recurrent.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

struct Recurrence {
  client::Dim batch;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  bool batch_first = false;
  Tensor x;                                           // [T, N, I]
  std::vector<client::RecurrentConfig> configs = {};  // one a direction
};

using Parameters = std::array<double, 2>;  // alpha and beta

struct NamedActivation {
  std::string_view name;
  std::size_t num_parameters;
  Parameters defaults;
  Tensor (*record)(const Tensor&, const Parameters&);
};

// Defaults are those of the operators of these names; ScaledTanh and Affine, which are none any more, default to
// tanh and to the identity.
constexpr NamedActivation kActivations[] = {
    {"Relu", 0, {}, [](const Tensor& x, const Parameters&) { return client::relu(x); }},
    {"Tanh", 0, {}, [](const Tensor& x, const Parameters&) { return client::tanh(x); }},
    {"Sigmoid", 0, {}, [](const Tensor& x, const Parameters&) { return client::sigmoid(x); }},
    {"Softsign", 0, {}, [](const Tensor& x, const Parameters&) { return client::softsign(x); }},
    {"Softplus", 0, {}, [](const Tensor& x, const Parameters&) { return client::softplus(x); }},
    {"LeakyRelu", 1, {0.01}, [](const Tensor& x, const Parameters& p) { return client::leaky_relu(x, p[0]); }},
    {"Elu", 1, {1.0}, [](const Tensor& x, const Parameters& p) { return client::elu(x, p[0]); }},
    {"ThresholdedRelu",
     1,
     {1.0},
     [](const Tensor& x, const Parameters& p) { return client::where(client::greater(x, p[0]), x, 0.0); }},
    {"HardSigmoid",
     2,
     {0.2, 0.5},
     [](const Tensor& x, const Parameters& p) { return client::hard_sigmoid(x, p[0], p[1]); }},
    {"Affine", 2, {1.0, 0.0}, [](const Tensor& x, const Parameters& p) { return p[0] * x + p[1]; }},
    {"ScaledTanh", 2, {1.0, 1.0}, [](const Tensor& x, const Parameters& p) { return p[0] * client::tanh(p[1] * x); }},
};

// Activations of every direction; those that have parameters take theirs from the lists in turn.
std::vector<client::Activation> read_activations(NodeContext& node, std::vector<std::string> names,
                                                 std::int64_t directions) {
  const std::size_t wanted = names.size() * static_cast<std::size_t>(directions);
  std::vector<std::string> given = node.texts("activations");
  // RNN's default names two, which some exporters write for one direction, too.
  const bool names_both = given.size() == 2 * wanted && directions == 1;
  if (names_both &&
      std::equal(given.begin(), given.begin() + std::ssize(given) / 2, given.begin() + std::ssize(given) / 2))
    given.resize(wanted);
  if (!given.empty() && given.size() != wanted) {
    reject(str_cat("attribute 'activations' names ", given.size(), " functions; ", wanted, " are needed"));
  }
  const std::vector<double> alphas = node.reals("activation_alpha").value_or(std::vector<double>());
  const std::vector<double> betas = node.reals("activation_beta").value_or(std::vector<double>());
  std::size_t next_alpha = 0, next_beta = 0;
  std::vector<client::Activation> activations;
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::string& name = given.empty() ? names[i % names.size()] : given[i];
    const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const NamedActivation& known) { return known.name == name; });
    if (found == std::end(kActivations)) reject_unsupported(str_cat("activation '", name, "'"));
    Parameters parameters = found->defaults;
    if (found->num_parameters > 0 && next_alpha < alphas.size()) parameters[0] = alphas[next_alpha++];
    if (found->num_parameters > 1 && next_beta < betas.size()) parameters[1] = betas[next_beta++];
    activations.emplace_back([record = found->record, parameters](const Tensor& x) { return record(x, parameters); });
  }
  if (next_alpha < alphas.size() || next_beta < betas.size())
    reject("more activation parameters than activations take");
  return activations;
}

// One direction of a [directions, ...] operand, as a host value when known.
Value direction_of(const NodeContext& node, const Value& all, std::int64_t direction, std::string_view part) {
  const Ints shape = all.shape();
  const Ints rest(shape.begin() + 1, shape.end());
  if (all.is_host() && fits(rest, all.dtype())) {
    const HostTensor taken = host_take(all.host(), {direction}, {}, 0);
    return node.made(taken, str_cat(part, direction));
  }
  return Value(client::select(all.tensor(), 0, direction));
}

// `by_columns`: W and R are [directions, I, gates * H] and [directions, H, gates * H].
Recurrence read(NodeContext& node, std::int64_t gates, const std::vector<std::string>& default_activations,
                bool by_columns = false) {
  Recurrence r;
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    reject(str_cat("direction '", direction, "' is unknown"));
  }
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.batch_first = node.integer("layout", 0) != 0;
  if (node.opset() < 7) node.integer("output_sequence", 0);  // which outputs are wanted says the node itself
  const auto activations = read_activations(node, default_activations, r.directions);
  const double clip = node.real("clip", 0);
  for (std::int64_t d = 0; d < r.directions; ++d) {
    client::RecurrentConfig& config = r.configs.emplace_back();
    config.reverse = direction == "reverse" || d == 1;
    config.lengths = node.tensor_or_empty(4);
    config.clip = clip;
    const auto* own = &activations[static_cast<std::size_t>(d) * default_activations.size()];
    if (default_activations.size() > 1) config.gate = *own++;
    config.cell = *own++;
    if (default_activations.size() > 2) config.hidden = *own;
  }
  const client::Shape x = node.input(0).dims();
  Ints w = node.input(1).shape(), u = node.input(2).shape();
  if (x.size() != 3 || w.size() != 3 || u.size() != 3) reject("X, W and R must have three axes");
  if (by_columns) std::swap(w[1], w[2]), std::swap(u[1], u[2]);
  r.hidden = node.integer("hidden_size", u[2]);
  const client::Shape want_w = {r.directions, gates * r.hidden, x[2]};
  const Ints want_u = {r.directions, gates * r.hidden, r.hidden};
  if (!(client::Shape(w.begin(), w.end()) == want_w) || u != want_u) {
    reject(str_cat("W ", to_string(w), " and R ", to_string(u), " must be ", client::to_string(want_w), " and ",
                   to_string(want_u)));
  }
  r.x = r.batch_first ? client::permute(node.tensor(0), {1, 0, 2}) : node.tensor(0);
  r.batch = x[r.batch_first ? 0 : 1];
  const client::Dim& steps = x[r.batch_first ? 1 : 0];
  if (steps.min() < 1) reject_unsupported(str_cat("a number of time steps that may be 0 (", steps.to_string(), ")"));
  return r;
}

// initial_h / initial_c of one direction [N, H]; zeros when omitted.
Tensor initial(NodeContext& node, std::size_t input, const Recurrence& r, std::int64_t direction) {
  if (!node.has_input(input)) return client::full({r.batch, r.hidden}, 0, r.x.dtype());
  const client::Dim directions = r.directions;
  const client::Shape want = {r.batch_first ? r.batch : directions, r.batch_first ? directions : r.batch, r.hidden};
  if (!(node.input(input).dims() == want)) {
    reject(str_cat("input ", input, " has shape ", client::to_string(node.input(input).dims()), " but needs ",
                   client::to_string(want)));
  }
  return client::select(node.tensor(input), r.batch_first ? 1 : 0, direction);
}

// Half `half` of one direction of B [directions, 2 * gates * H].
Value bias_half(NodeContext& node, const Recurrence& r, std::int64_t gates, std::int64_t direction, std::int64_t half) {
  const Value& all = node.input(3);
  const std::int64_t length = gates * r.hidden;
  if (all.shape() != Ints{r.directions, 2 * length}) {
    reject(str_cat("B has shape ", to_string(all.shape()), " but needs ", to_string({r.directions, 2 * length})));
  }
  if (all.is_host()) {
    const View view{{length}, {1}, (direction * 2 + half) * length};
    return node.made(host_view(all.host(), view), str_cat("B", direction, ".", half));
  }
  return Value(client::slice(client::select(all.tensor(), 0, direction), {{0, half * length, (half + 1) * length, 1}}));
}

// Y [T, directions, N, H] and final states [directions, N, H] (or batch first).
Value stack_directions(const std::vector<Tensor>& parts, const Recurrence& r, bool sequence) {
  const std::int64_t axis = sequence ? 1 : 0;
  const Tensor y = client::stack(parts, axis);
  if (!r.batch_first) return Value(y);
  return Value(client::permute(y, sequence ? client::Axes{2, 0, 1, 3} : client::Axes{1, 0, 2}));
}

// Both halves of one direction's bias in one.
Tensor whole_bias(NodeContext& node, const Recurrence& r, std::int64_t gates, std::int64_t direction) {
  if (!node.has_input(3)) return {};
  const Value input = bias_half(node, r, gates, direction, 0);
  const Value hidden = bias_half(node, r, gates, direction, 1);
  if (!input.is_host() || !can_fold(input.host())) return widened(input.tensor()) + widened(hidden.tensor());
  const auto wide = [](const HostTensor& x) { return x.dtype() == DType::kF64 ? x : host_cast(x, DType::kF32); };
  return node.made(host_binary(HostBinary::kAdd, wide(input.host()), wide(hidden.host())), str_cat("B", direction))
      .tensor();
}

Tensor recurrent_weight(const NodeContext& node, std::size_t input, std::int64_t direction, std::string_view part) {
  return node.unscaled_weight(direction_of(node, node.input(input), direction, part)).tensor;
}

Values lstm(NodeContext& node) {
  const bool input_forget = node.integer("input_forget", 0) != 0;
  const Recurrence r = read(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (node.has_input(7) && node.input(7).shape() != Ints{r.directions, 3 * r.hidden}) {
    reject(str_cat("P has shape ", to_string(node.input(7).shape()), " but needs ",
                   to_string({r.directions, 3 * r.hidden})));
  }
  std::vector<Tensor> y, h, c;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    client::LstmConfig config{.order = client::GateOrder::kInputOutputForgetCell, .input_forget = input_forget};
    config.steps = r.configs[static_cast<std::size_t>(d)];
    if (node.has_input(7)) config.peepholes = direction_of(node, node.input(7), d, "P").tensor();
    const client::LstmTensors start{initial(node, 5, r, d), initial(node, 6, r, d)};
    const client::LstmResult result =
        client::lstm(r.x, start, recurrent_weight(node, 1, d, "W"), recurrent_weight(node, 2, d, "R"),
                     whole_bias(node, r, 4, d), config);
    y.push_back(result.y);
    h.push_back(result.last.h);
    c.push_back(result.last.c);
  }
  return {stack_directions(y, r, true), stack_directions(h, r, false), stack_directions(c, r, false)};
}

// For com.microsoft: W and R are bytes, with a scale and a zero point a direction, or one a column. The products quantise
// the inputs as a whole, and in each step the state.
Values dynamic_quantize_lstm(NodeContext& node) {
  const bool input_forget = node.integer("input_forget", 0) != 0;
  const Recurrence r = read(node, 4, {"Sigmoid", "Tanh", "Tanh"}, /*by_columns=*/true);
  const auto product = [&](std::size_t bytes, std::size_t scale, std::int64_t d) -> client::Activation {
    const auto of_direction = [&](std::size_t input) {
      const Tensor& all = node.tensor(input);
      if (all.rank() < 1 || all.rank() > 2 || !(all.dim(0) == client::Dim(r.directions)) ||
          (all.rank() == 2 && !(all.dim(1) == client::Dim(4 * r.hidden)))) {
        reject(str_cat("input ", input, " has shape ", client::to_string(all.shape()), " but needs ",
                       to_string({r.directions}), " or ", to_string({r.directions, 4 * r.hidden})));
      }
      return client::select(all, 0, d);
    };
    const QuantizedWeights weights = {client::select(node.tensor(bytes), 0, d), of_direction(scale),
                                      of_direction(scale + 1)};
    return [weights](const Tensor& x) { return product_of_bytes(x, weights); };
  };
  std::vector<Tensor> y, h, c;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    client::LstmConfig config{.order = client::GateOrder::kInputOutputForgetCell, .input_forget = input_forget};
    config.steps = r.configs[static_cast<std::size_t>(d)];
    if (node.has_input(7)) config.peepholes = direction_of(node, node.input(7), d, "P").tensor();
    config.input_product = product(1, 8, d);
    config.hidden_product = product(2, 10, d);
    const client::LstmTensors start{initial(node, 5, r, d), initial(node, 6, r, d)};
    const client::LstmResult result = client::lstm(r.x, start, {}, {}, whole_bias(node, r, 4, d), config);
    y.push_back(result.y);
    h.push_back(result.last.h);
    c.push_back(result.last.c);
  }
  return {stack_directions(y, r, true), stack_directions(h, r, false), stack_directions(c, r, false)};
}

Values gru(NodeContext& node) {
  const bool linear_before_reset = node.integer("linear_before_reset", 0) != 0;
  const Recurrence r = read(node, 3, {"Sigmoid", "Tanh"});
  std::vector<Tensor> y, last;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    const bool biased = node.has_input(3);
    const client::RecurrentResult result =
        client::gru(r.x, initial(node, 5, r, d), recurrent_weight(node, 1, d, "W"), recurrent_weight(node, 2, d, "R"),
                    biased ? bias_half(node, r, 3, d, 0).tensor() : Tensor(),
                    biased ? bias_half(node, r, 3, d, 1).tensor() : Tensor(), linear_before_reset,
                    r.configs[static_cast<std::size_t>(d)]);
    y.push_back(result.y);
    last.push_back(result.last);
  }
  return {stack_directions(y, r, true), stack_directions(last, r, false)};
}

Values rnn(NodeContext& node) {
  const Recurrence r = read(node, 1, {"Tanh"});
  std::vector<Tensor> y, last;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    const client::RecurrentResult result =
        client::rnn(r.x, initial(node, 5, r, d), recurrent_weight(node, 1, d, "W"), recurrent_weight(node, 2, d, "R"),
                    whole_bias(node, r, 1, d), r.configs[static_cast<std::size_t>(d)]);
    y.push_back(result.y);
    last.push_back(result.last);
  }
  return {stack_directions(y, r, true), stack_directions(last, r, false)};
}

constexpr OperatorEntry kOperators[] = {{"LSTM", lstm}, {"GRU", gru}, {"RNN", rnn}};

constexpr OperatorEntry kMicrosoft[] = {{"DynamicQuantizeLSTM", dynamic_quantize_lstm}};

}  // namespace

std::span<const OperatorEntry> recurrent_operators() { return kOperators; }
std::span<const OperatorEntry> microsoft_recurrent_operators() { return kMicrosoft; }

}  // namespace hearth::onnx
