// Wrong arguments of recurrent layers and attention: each gets its own message, with the caller's line.
#include "tests/unit/client/error_rows.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::client::error_rows;

namespace {

Tensor nn_i32(Shape shape) { return input("i", std::move(shape), DType::kI32); }

// T = 5, N = 2, I = 3, H = 4
RecurrentResult rnn_of(const Tensor& x, const Tensor& b = {}, const RecurrentConfig& config = {}) {
  return rnn(x, f32({2, 4}), f32({4, 3}), f32({4, 4}), b, config);
}
RecurrentResult gru_of(const Tensor& h, const Tensor& bw, const Tensor& br) {
  return gru(f32({5, 2, 3}), h, f32({12, 3}), f32({12, 4}), bw, br, true);
}
LstmResult lstm_of(const Tensor& c, const Tensor& b, const LstmConfig& config = {}) {
  return lstm(f32({5, 2, 3}), {f32({2, 4}), c}, f32({16, 3}), f32({16, 4}), b, config);
}
Tensor attend(Shape q, Shape k, Shape v, const Tensor& mask = {}) {
  return scaled_dot_product_attention(f32(q), f32(k), f32(v), {.mask = mask});
}

}  // namespace

TEST_CASE("each wrong argument of recurrent layers and attention gets its own message") {
  const Dim n = Dim::variable("n", 0, 9);
  const Tensor x = f32({5, 2, 3}), state = f32({2, 4});
  check_rows({
      {"rnn: argument 'x' is an empty tensor", [&] { rnn_of({}); }},
      {"rnn: argument 'x' is f32 [2, 3]; expected [T, N, I]", [&] { rnn_of(f32({2, 3})); }},
      {"there are n time steps, which may be none", [&] { rnn_of(f32({n, 2, 3})); }},
      {"there are 0 time steps, which may be none", [&] { rnn_of(f32({0, 2, 3})); }},
      {"'x' is f32 [5, 9, 3]", [&] { rnn_of(f32({5, 9, 3})); }},
      {"argument 'b' is f32 [3]; expected [4]", [&] { rnn_of(x, f32({3})); }},
      {"argument 'lengths' is f32 [2]; expected an integer", [&] { rnn_of(x, {}, {.lengths = f32({2})}); }},
      {"argument 'lengths' is i32 [3]; expected [2]", [&] { rnn_of(x, {}, {.lengths = nn_i32({3})}); }},
      {"clip is -1", [&] { rnn_of(x, {}, {.clip = -1}); }},
      {"gru: argument 'h' is an empty tensor", [&] { gru_of({}, {}, {}); }},
      {"[3H, I]", [&] { gru_of(f32({2, 5}), {}, {}); }},
      {"argument 'bw' is f32 [4]; expected [12]", [&] { gru_of(state, f32({4}), {}); }},
      {"argument 'br' is f32 [4]; expected [12]", [&] { gru_of(state, {}, f32({4})); }},
      {"gru_cell: argument 'br' is f32 [4]",
       [&] { gru_cell(f32({2, 3}), state, f32({12, 3}), f32({12, 4}), {}, f32({4}), true); }},
      {"lstm: argument 'c' is an empty tensor", [&] { lstm_of({}, {}); }},
      {"argument 'c' is f32 [1, 4]; expected the shape of 'h', [2, 4]", [&] { lstm_of(f32({1, 4}), {}); }},
      {"argument 'b' is f32 [12]; expected [16]", [&] { lstm_of(state, f32({12})); }},
      {"argument 'peepholes' is f32 [4]; expected [12]", [&] { lstm_of(state, {}, {.peepholes = f32({4})}); }},
      {"glu: 'x' is f32 [2, 3]; expected an even length along axis 1", [&] { glu(f32({2, 3})); }},
      {"celu: alpha is 0; expected a number other than 0", [&] { celu(f32({3}), 0); }},
      {"hard_tanh: low is 2, above high, 1", [&] { hard_tanh(f32({3}), 2); }},
      {"prelu: argument 'slope' is an empty tensor", [&] { prelu(f32({3}), {}); }},
      {"hardmax: ", [&] { hardmax(f32({2, 3}), 2); }},
      {"embedding: argument 'table' is f32 [3]; expected [V, E]", [&] { embedding(f32({3}), nn_i32({2})); }},
      {"argument 'indices' is f32 [2]; expected an integer", [&] { embedding(f32({3, 2}), f32({2})); }},
      {"embedding: argument 'indices' is an empty tensor", [&] { embedding(f32({3, 2}), {}); }},
      {"argument 'x' is i32 [4, 6]; expected floats",
       [&] { rotary_embedding(nn_i32({4, 6}), f32({4, 3}), f32({4, 3})); }},
      {"at most half of 6", [&] { rotary_embedding(f32({4, 6}), f32({4, 4}), f32({4, 4})); }},
      {"expected equal shapes", [&] { rotary_embedding(f32({4, 6}), f32({4, 3}), f32({1, 3})); }},
      {"broadcasts to [4, 3]", [&] { rotary_embedding(f32({4, 6}), f32({2, 4, 3}), f32({2, 4, 3})); }},
      {"argument 'q' is f32 [3, 5]; expected floats [.., H, T, D]", [&] { attend({3, 5}, {2, 6, 5}, {2, 6, 5}); }},
      {"with K a divisor of H", [&] { attend({4, 3, 5}, {3, 6, 5}, {3, 6, 5}); }},
      {"with K a divisor of H", [&] { attend({4, 3, 5}, {4, 6, 4}, {4, 6, 5}); }},
      {"with K a divisor of H", [&] { attend({4, 3, 5}, {4, 6, 5}, {4, 7, 5}); }},
      {"argument 'mask' is f32 [2, 4, 3, 6]; expected a shape that broadcasts to [4, 3, 6]",
       [&] { attend({4, 3, 5}, {4, 6, 5}, {4, 6, 5}, f32({2, 4, 3, 6})); }},
      {"argument 'mask' is i32 [3, 6]; expected bool or floats",
       [&] { attend({4, 3, 5}, {4, 6, 5}, {4, 6, 5}, nn_i32({3, 6})); }},
      {"argument 'k' is an empty tensor", [&] { scaled_dot_product_attention(f32({4, 3, 5}), {}, f32({4, 6, 5})); }},
  });
}
