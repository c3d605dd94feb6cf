#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

Tensors all_and_last(const RecurrentResult& result) { return {result.y, result.last}; }

OpCase gru_case(const std::string& name, bool linear, const std::function<RecurrentConfig(const Tensors&)>& config) {
  return {name,
          [linear, config](const Tensors& in) {
            return all_and_last(gru(in[0], in[1], in[2], in[3], in[4], in[5], linear, config(in)));
          },
          1e-5, 1e-6};
}

OpCase lstm_case(const std::string& name, bool coupled, const std::function<RecurrentConfig(const Tensors&)>& steps) {
  return {name,
          [coupled, steps](const Tensors& in) {
            const LstmConfig config{GateOrder::kInputOutputForgetCell, in[6], coupled, steps(in)};
            const LstmResult result = lstm(in[0], {in[1], in[2]}, in[3], in[4], in[5], config);
            return Tensors{result.y, result.last.h, result.last.c};
          },
          1e-5, 1e-6};
}

OpCase averages_case(const std::string& name, bool reverse) {
  return {name,
          [reverse](const Tensors& in) {
            const auto body = [&](LoopStep step) -> LoopValues {
              const Tensor row = step.sliced[0] * in[2], next = step.carried[0] * 0.5 + row;
              return {{next}, {step.carried[0] * row, next}};
            };
            const LoopResult result = loop(in[0].dim(0), {in[1]}, {in[0]}, body, {.reverse = reverse});
            return Tensors{result.last[0], result.stacked[0], result.stacked[1]};
          },
          1e-5, 1e-6};
}

}  // namespace

TEST_CASE("recurrent layers and loops give numpy's results") {
  check_family(
      "recurrent",
      {
          averages_case("loop", false),
          averages_case("loop_reverse", true),
          {"rnn", [](const Tensors& in) { return all_and_last(rnn(in[0], in[1], in[2], in[3], in[4])); }, 1e-5, 1e-6},
          {"rnn_lengths_reverse_clip_relu",
           [](const Tensors& in) {
             RecurrentConfig config{.reverse = true, .lengths = in[4], .clip = 0.4};
             config.cell = [](const Tensor& x) { return relu(x); };
             return all_and_last(rnn(in[0], in[1], in[2], in[3], {}, config));
           },
           1e-5, 1e-6},
          gru_case("gru", false, [](const Tensors&) { return RecurrentConfig{}; }),
          gru_case("gru_linear_lengths", true, [](const Tensors& in) { return RecurrentConfig{.lengths = in[6]}; }),
          gru_case("gru_clip_reverse", false,
                   [](const Tensors&) { return RecurrentConfig{.reverse = true, .clip = 0.4}; }),
          lstm_case("lstm_peepholes", false, [](const Tensors&) { return RecurrentConfig{}; }),
          lstm_case("lstm_coupled_lengths_reverse", true,
                    [](const Tensors& in) { return RecurrentConfig{.reverse = true, .lengths = in[7]}; }),
          lstm_case("lstm_clip", false, [](const Tensors&) { return RecurrentConfig{.clip = 0.4}; }),
      });
}
