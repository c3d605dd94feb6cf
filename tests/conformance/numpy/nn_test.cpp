#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::Tensors;

TEST_CASE("products, convolutions, pools, norms, cells and losses give numpy's results") {
  constexpr double kRounding = 4e-6;
  const PoolConfig pool = {.kernel = {2, 3}, .strides = {2, 1}};
  std::vector<hearth::conformance::numpy::OpCase> cases = {
      {"matmul", [](const Tensors& in) { return Tensors{matmul(in[0], in[1])}; }},
      {"matmul_vectors", [](const Tensors& in) { return Tensors{matmul(in[0], in[1])}; }},
      {"linear", [](const Tensors& in) { return Tensors{linear(in[0], in[1], in[2])}; }},
      {"gather", [](const Tensors& in) { return Tensors{gather(in[0], in[1], 0)}; }},
      {"conv_1d_groups",
       [](const Tensors& in) {
         return Tensors{conv(in[0], in[1], in[2],
                             {.strides = {2}, .pads_begin = {1}, .pads_end = {1}, .dilations = {2}, .groups = 2})};
       }},
      {"conv_2d",
       [](const Tensors& in) {
         return Tensors{conv(in[0], in[1], in[2],
                             {.strides = {2, 1}, .pads_begin = {1, 0}, .pads_end = {1, 0}, .dilations = {1, 2}})};
       }},
      {"conv_3d",
       [](const Tensors& in) {
         return Tensors{
             conv(in[0], in[1], in[2], {.strides = {1, 2, 1}, .pads_begin = {0, 1, 0}, .pads_end = {0, 1, 0}})};
       }},
      {"max_pool", [pool](const Tensors& in) { return Tensors{max_pool(in[0], pool)}; }},
      {"avg_pool", [pool](const Tensors& in) { return Tensors{avg_pool(in[0], pool)}; }},
      {"global_max_pool", [](const Tensors& in) { return Tensors{global_max_pool(in[0])}; }},
      {"global_avg_pool", [](const Tensors& in) { return Tensors{global_avg_pool(in[0])}; }},
      {"layer_norm", [](const Tensors& in) { return Tensors{layer_norm(in[0], in[1], in[2])}; }},
      {"rms_norm", [](const Tensors& in) { return Tensors{rms_norm(in[0], in[1])}; }},
      {"batch_norm", [](const Tensors& in) { return Tensors{batch_norm(in[0], in[1], in[2], in[3], in[4])}; }},
      {"instance_norm", [](const Tensors& in) { return Tensors{instance_norm(in[0], in[1], in[2])}; }},
      {"group_norm", [](const Tensors& in) { return Tensors{group_norm(in[0], 2, in[1], in[2])}; }},
      {"lstm_cell",
       [](const Tensors& in) {
         const LstmTensors next =
             lstm_cell(in[0], {in[1], in[2]}, in[3], in[4], in[5], GateOrder::kInputForgetCellOutput);
         return Tensors{next.h, next.c};
       }},
      {"gru_cell", [](const Tensors& in) { return Tensors{gru_cell(in[0], in[1], in[2], in[3], in[4], in[5], true)}; }},
      {"cross_entropy", [](const Tensors& in) { return Tensors{cross_entropy(in[0], in[1])}; }},
      {"nll_loss",
       [](const Tensors& in) { return Tensors{nll_loss(in[0], in[1], {}, {.reduction = LossReduction::kSum})}; }},
  };
  for (auto& op : cases) op.relative = op.absolute = kRounding;
  check_family("nn", cases);
}
