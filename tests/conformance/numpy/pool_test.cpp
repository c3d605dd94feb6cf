#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

const PoolConfig kPadded = {.kernel = {3, 2}, .strides = {2, 1}, .pads_begin = {1, 1}, .pads_end = {1, 0}};
const PoolConfig kDilated = {
    .kernel = {2, 3}, .strides = {1, 2}, .pads_begin = {0, 2}, .pads_end = {0, 1}, .dilations = {2, 2}};
const PoolConfig kLarge = {.kernel = {5, 4}, .strides = {1, 2}, .pads_begin = {2, 1}, .pads_end = {2, 3}};
const PoolConfig kLargeDilated = {
    .kernel = {4, 5}, .strides = {2, 1}, .pads_begin = {1, 4}, .pads_end = {2, 4}, .dilations = {1, 2}};
const PoolConfig kCeiled = {.kernel = {3}, .strides = {2}, .ceil_mode = true};

OpCase max_row(std::string name, const PoolConfig& config, bool column_major = false) {
  return {std::move(name), [=](const Tensors& in) {
            const MaxPoolResult result = max_pool_with_indices(in[0], config, column_major);
            return Tensors{result.values, result.indices};
          }};
}

OpCase rounded(std::string name, std::function<Tensor(const Tensors&)> record) {
  return {std::move(name), [=](const Tensors& in) { return Tensors{record(in)}; }, 1e-5, 1e-5};
}

}  // namespace

TEST_CASE("pools, transposed convolutions and normalisations of images give numpy's results") {
  check_family(
      "pool",
      {
          max_row("max_padded", kPadded),
          max_row("max_columns", kDilated, true),
          max_row("max_ties", kPadded),
          max_row("max_ceil", kCeiled),
          {"max_unpool", [](const Tensors& in) { return Tensors{max_unpool(in[0], in[1], {5, 6})}; }},
          rounded("lp_1", [](const Tensors& in) { return lp_pool(in[0], 1, kPadded); }),
          rounded("lp_2", [](const Tensors& in) { return lp_pool(in[0], 2, kPadded); }),
          rounded("lp_3", [](const Tensors& in) { return lp_pool(in[0], 3, kPadded); }),
          rounded("lp_ceil", [](const Tensors& in) { return lp_pool(in[0], 2, kCeiled); }),
          rounded("global_lp", [](const Tensors& in) { return global_lp_pool(in[0], 3); }),
          rounded("average", [](const Tensors& in) { return avg_pool(in[0], kDilated); }),
          rounded("average_ceil", [](const Tensors& in) { return avg_pool(in[0], kCeiled); }),
          {"max_large", [](const Tensors& in) { return Tensors{max_pool(in[0], kLarge)}; }},
          {"max_large_dilated", [](const Tensors& in) { return Tensors{max_pool(in[0], kLargeDilated)}; }},
          rounded("average_large", [](const Tensors& in) { return avg_pool(in[0], kLarge); }),
          rounded("transposed", [](const Tensors& in) { return conv_transpose(in[0], in[1]); }),
          rounded("transposed_far",
                  [](const Tensors& in) {
                    return conv_transpose(
                        in[0], in[1], {},
                        {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {0, 1}, .dilations = {2, 1}}, {1, 2});
                  }),
          rounded("transposed_groups",
                  [](const Tensors& in) {
                    return conv_transpose(in[0], in[1], {},
                                          {.strides = {2}, .pads_begin = {1}, .pads_end = {1}, .groups = 2});
                  }),
          rounded("transposed_uneven",
                  [](const Tensors& in) {
                    return conv_transpose(in[0], in[1], {},
                                          {.strides = {3, 2}, .pads_begin = {1, 0}, .pads_end = {0, 1}}, {2, 1});
                  }),
          rounded("transposed_long",
                  [](const Tensors& in) {
                    return conv_transpose(in[0], in[1], {},
                                          {.strides = {3}, .pads_begin = {0}, .pads_end = {4}, .groups = 2}, {1});
                  }),
          rounded("lrn_3", [](const Tensors& in) { return local_response_norm(in[0], 3, 0.3, 0.6, 1.5); }),
          rounded("lrn_4", [](const Tensors& in) { return local_response_norm(in[0], 4, 0.3, 0.6, 1.5); }),
          rounded("mean_variance", [](const Tensors& in) { return mean_variance_norm(in[0], {0, 2, 3}); }),
          rounded("lp_normalize_1", [](const Tensors& in) { return lp_normalize(in[0], 1, 1); }),
          rounded("lp_normalize_2", [](const Tensors& in) { return lp_normalize(in[0], 1); }),
          rounded("lp_normalize_zeros", [](const Tensors& in) { return lp_normalize(in[0], -3); }),
          {"batch_training",
           [](const Tensors& in) {
             const BatchNormResult result = batch_norm_training(in[0], in[1], in[2], 1e-3);
             return Tensors{result.y, result.mean, result.variance};
           },
           1e-5, 1e-5},
      });
}
