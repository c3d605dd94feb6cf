// Wrong arguments of the ops of images, signals and quantised values.
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "client/trace/encoded_graph.h"
#include "hearth/ops.h"

using namespace hearth;
using namespace hearth::client;

namespace {

Tensor image_f32(Shape shape) { return input("x", std::move(shape), DType::kF32); }
Tensor u8(Shape shape) { return input("q", std::move(shape), DType::kU8); }
Tensor i8(Shape shape) { return input("w", std::move(shape), DType::kI8); }

struct Row {
  const char* expected;
  std::function<void()> record;
};

void check_messages(const std::vector<Row>& table) {
  for (const Row& row : table) {
    std::string text = "no error";
    try {
      row.record();
    } catch (const JitError& error) {
      CHECK(error.status().code() == absl::StatusCode::kInvalidArgument);
      text = error.what();
    }
    CHECK_THAT(text, Catch::Contains(row.expected));
    CHECK_THAT(text, Catch::Contains("error_image_test.cpp:"));
  }
}

}  // namespace

TEST_CASE("wrong arguments of quantisation") {
  const Tensor scale = scalar(0.5, DType::kF32);
  check_messages({
      {"'x' is an empty tensor", [&] { quantize_linear({}, scale); }},
      {"'scale' is an empty tensor", [] { quantize_linear(image_f32({2}), {}); }},
      {"'scale' is u8 [2]; expected a float", [] { quantize_linear(image_f32({2}), u8({2})); }},
      {"'scale' is f32 [4]; expected a scalar or the shape [3]",
       [] { quantize_linear(image_f32({2, 3}), image_f32({4})); }},
      {"'zero_point' is u8 [4]", [&] { quantize_linear(image_f32({2, 3}), scale, u8({4})); }},
      {"axis 2 is out of range", [] { quantize_linear(image_f32({2, 3}), image_f32({3}), {}, {.axis = 2}); }},
      {"the quantized dtype is i32", [&] { quantize_linear(image_f32({2}), scale, {}, {.dtype = DType::kI32}); }},
      {"'x' is f32 [2]; expected u8", [&] { dequantize_linear(image_f32({2}), scale); }},
      {"'zero_point' is i8 []", [&] { dequantize_linear(u8({2}), scale, i8({})); }},
      {"'x' is u8 [2]; expected f32", [] { dynamic_quantize_linear(u8({2})); }},
      {"may be empty", [] { dynamic_quantize_linear(image_f32({0})); }},
      {"'a' is f32 [2, 3]; expected u8 or i8", [] { matmul_integer(image_f32({2, 3}), i8({3, 4})); }},
      {"'b' is an empty tensor", [] { matmul_integer(u8({2, 3}), {}); }},
      {"inner lengths 3 and 4", [] { matmul_integer(u8({2, 3}), i8({4, 4})); }},
      {"'a_zero' is i8 []", [] { matmul_integer(u8({2, 3}), i8({3, 4}), i8({})); }},
      {"'a_zero' is u8 [3] for u8 [2, 3]", [] { matmul_integer(u8({2, 3}), i8({3, 4}), u8({3})); }},
      {"one element a column", [] { matmul_integer(u8({2, 3}), i8({3, 4}), {}, i8({3, 1})); }},
      {"'x' is f32", [] { conv_integer(image_f32({1, 2, 5}), i8({3, 2, 2})); }},
      {"'x_zero' is u8 [2]; expected a scalar", [] { conv_integer(u8({1, 2, 5}), i8({3, 2, 2}), u8({2})); }},
      {"'w_zero' is i8 [2]", [] { conv_integer(u8({1, 2, 5}), i8({3, 2, 2}), {}, i8({2})); }},
      {"'pads_begin' has 2 entries; expected 1",
       [] { conv_integer(u8({1, 2, 5}), i8({3, 2, 2}), full_i64({}, 3, DType::kU8), {}, {.pads_begin = {1, 1}}); }},
  });
}

TEST_CASE("wrong arguments of sampling") {
  const Tensor image = image_f32({2, 3, 4, 5}), rois = image_f32({6, 4});
  const Tensor batch = input("b", {6}, DType::kI64);
  const Dim n = Dim::variable("n", 1, 9);
  check_messages({
      {"'grid' is an empty tensor", [&] { grid_sample(image, {}); }},
      {"'grid' is u8", [&] { grid_sample(image, u8({2, 3, 4, 2})); }},
      {"expected [N, out..., d]", [&] { grid_sample(image, image_f32({2, 2})); }},
      {"expected 5 axes", [&] { grid_sample(image, image_f32({2, 3, 4, 3})); }},
      {"expected as many images", [&] { grid_sample(image, image_f32({1, 3, 4, 2})); }},
      {"expected an element along axis 3", [] { grid_sample(image_f32({2, 3, 4, 0}), image_f32({2, 3, 4, 2})); }},
      {"symbolic length n", [&] { grid_sample(image_f32({2, 3, 4, n}), image_f32({2, 3, 4, 2})); }},
      {"'x' is f32 [2, 4, 5]",
       [] { deform_conv(image_f32({2, 4, 5}), image_f32({2, 4, 2, 2}), image_f32({2, 8, 4, 5})); }},
      {"'w' is f32 [2, 4, 2]", [&] { deform_conv(image, image_f32({2, 4, 2}), image_f32({2, 8, 3, 4})); }},
      {"expected x's channels", [&] { deform_conv(image, image_f32({2, 4, 2, 2}), image_f32({2, 8, 3, 4})); }},
      {"'offset' is f32 [2, 8, 3, 3]; expected the shape [2, 8, 3, 4]",
       [&] { deform_conv(image, image_f32({2, 3, 2, 2}), image_f32({2, 8, 3, 3})); }},
      {"'mask' is f32 [2, 8, 3, 4]; expected the shape [2, 4, 3, 4]",
       [&] { deform_conv(image, image_f32({2, 3, 2, 2}), image_f32({2, 8, 3, 4}), {}, image_f32({2, 8, 3, 4})); }},
      {"'b' is f32 [3]", [&] { deform_conv(image, image_f32({2, 3, 2, 2}), image_f32({2, 8, 3, 4}), image_f32({3})); }},
      {"a window is longer", [&] { deform_conv(image, image_f32({2, 3, 5, 2}), image_f32({2, 8, 3, 4})); }},
      {"and 2 offset groups",
       [&] { deform_conv(image, image_f32({2, 3, 2, 2}), image_f32({2, 8, 3, 4}), {}, {}, {}, 2); }},
      {"'theta' is f32 [2, 3]", [] { affine_grid(image_f32({2, 3}), {4, 5}); }},
      {"expected [N, 2, 3]", [] { affine_grid(image_f32({1, 2, 2}), {4, 5}); }},
      {"'lengths' holds 0", [] { affine_grid(image_f32({1, 2, 3}), {4, 0}); }},
      {"'x' is f32 [2, 3, 4]", [&] { roi_align(image_f32({2, 3, 4}), rois, batch, {}); }},
      {"'rois' is f32 [6, 5]; expected [R, 4]", [&] { roi_align(image, image_f32({6, 5}), batch, {}); }},
      {"expected one image a region", [&] { roi_align(image, image_f32({5, 4}), batch, {}); }},
      {"'batch' is f32", [&] { roi_align(image, rois, image_f32({6}), {}); }},
      {"sampling_ratio 0", [&] { roi_align(image, rois, batch, {.sampling_ratio = 0}); }},
      {"'rois' is f32 [6, 4]; expected [R, 5]", [&] { max_roi_pool(image, rois, {}); }},
      {"height 0", [&] { max_roi_pool(image, image_f32({6, 5}), {.height = 0}); }},
      {"'x' is u8", [&] { max_roi_pool(u8({1, 1, 2, 2}), image_f32({6, 5}), {}); }},
  });
}

TEST_CASE("wrong arguments of pools and normalisations of images") {
  const Tensor image = image_f32({1, 2, 6}), indices = input("i", {1, 2, 6}, DType::kI64);
  check_messages({
      {"'kernel' is empty", [&] { max_pool_with_indices(image, {}); }},
      {"expected at least 3 axes", [] { max_pool_with_indices(image_f32({2, 6}), {.kernel = {2}}); }},
      {"window spans 9", [&] { max_pool_with_indices(image, {.kernel = {9}}); }},
      {"'indices' is f32", [&] { max_unpool(image, image, {12}); }},
      {"expected the same shape", [&] { max_unpool(image_f32({1, 2, 3}), indices, {12}); }},
      {"'lengths' has 2 entries; expected 1", [&] { max_unpool(image, indices, {12, 3}); }},
      {"'lengths' is empty", [&] { max_unpool(image, indices, {}); }},
      {"p is 0.5; expected at least 1", [&] { lp_pool(image, 0.5, {.kernel = {2}}); }},
      {"'kernel' has 2 entries; expected 1", [&] { lp_pool(image, 2, {.kernel = {2, 2}}); }},
      {"p is 0", [&] { global_lp_pool(image, 0); }},
      {"empty tensor", [] { global_lp_pool({}, 2); }},
      {"expected at least 2 axes", [] { batch_norm_training(image_f32({3}), {}, {}); }},
      {"'scale' is f32 [3]", [&] { batch_norm_training(image, image_f32({3}), {}); }},
      {"axis 3 is out of range", [&] { mean_variance_norm(image, {3}); }},
      {"p is 0", [&] { lp_normalize(image, 1, 0); }},
      {"axis 3 is out of range", [&] { lp_normalize(image, 3); }},
      {"p is 0.5", [&] { lp_norm(image, 0.5); }},
      {"size is 0", [&] { local_response_norm(image, 0); }},
      {"empty tensor", [] { local_response_norm({}, 3); }},
  });
}

TEST_CASE("wrong arguments of transforms, windows and n-grams") {
  const Tensor signal = image_f32({1, 16, 1}), spectrum = image_f32({1, 16, 2});
  const Tensor tokens = input("t", {2, 9}, DType::kI64);
  const Dim n = Dim::variable("n", 1, 9);
  check_messages({
      {"empty tensor", [] { dft({}); }},
      {"'x' is u8 [4, 2]; expected floats", [] { dft(u8({4, 2}), {.axis = 0}); }},
      {"'x' is f32 [1, 4, 3]", [] { dft(image_f32({1, 4, 3})); }},
      {"axis 3 is out of range", [&] { dft(signal, {.axis = 3}); }},
      {"expected another one", [&] { dft(signal, {.axis = -1}); }},
      {"expected a real one", [&] { dft(spectrum, {.onesided = true}); }},
      {"the length is 0", [] { dft(image_f32({1, 1, 2}), {.inverse = true, .onesided = true}); }},
      {"the length is -1", [&] { dft(signal, {.length = -1}); }},
      {"symbolic length n", [&] { dft(image_f32({1, n, 1})); }},
      {"expected [N, samples, 1 or 2]", [] { stft(image_f32({16, 1}), image_f32({4}), 2); }},
      {"'window' is f32 [4, 1]", [&] { stft(signal, image_f32({4, 1}), 2); }},
      {"window spans 20", [&] { stft(signal, image_f32({20}), 2); }},
      {"step is 0", [&] { stft(signal, image_f32({4}), 0); }},
      {"expected a real one", [&] { stft(spectrum, image_f32({4}), 2); }},
      {"the length is 0", [] { hann_window(0); }},
      {"the dtype is i32", [] { hamming_window(4, true, DType::kI32); }},
      {"the length is -3", [] { blackman_window(-3); }},
      {"expected 0 <= low < high",
       [] { mel_weight_matrix({.bins = 4, .dft_length = 16, .sample_rate = 100, .low_hertz = 0, .high_hertz = 51}); }},
      {"the length is 0", [] { mel_weight_matrix({}); }},
      {"'x' is f32", [] { count_ngrams(image_f32({4}), {{1}}); }},
      {"expected [length] or [N, length]", [] { count_ngrams(u8({1, 2, 3}), {{1}}); }},
      {"'grams' is empty", [&] { count_ngrams(tokens, {}); }},
      {"an n-gram has no tokens", [&] { count_ngrams(tokens, {{1}, {}}); }},
      {"max_skip is -1", [&] { count_ngrams(tokens, {{1}}, -1); }},
  });
}

TEST_CASE("wrong arguments of blocks") {
  check_messages({
      {"empty tensor", [] { pixel_shuffle({}, 2); }},
      {"expected [N, C, H, W]", [] { pixel_shuffle(image_f32({4, 2, 2}), 2); }},
      {"channels that divide into blocks of 2x2", [] { depth_to_space(image_f32({1, 6, 2, 2}), 2); }},
      {"a positive block", [] { depth_to_space(image_f32({1, 4, 2, 2}), 0); }},
      {"image that divides into blocks of 2x2", [] { space_to_depth(image_f32({1, 1, 3, 2}), 2); }},
      {"a positive block", [] { pixel_unshuffle(image_f32({1, 4, 2, 2}), -1); }},
      {"there are 1 lengths for 2 axes", [] { center_crop_pad(image_f32({2, 3}), {4}, {0, 1}); }},
      {"axis 0 is given twice", [] { center_crop_pad(image_f32({2, 3}), {4, 4}, {0, -2}); }},
      {"'lengths' holds -1", [] { center_crop_pad(image_f32({2, 3}), {-1}, {0}); }},
      {"expected [N, C * 6, 9]", [] { fold(image_f32({1, 6, 8}), {5, 4}, {3, 2}); }},
      {"'kernel' has 1 entries; expected 2", [] { fold(image_f32({1, 6, 9}), {5, 4}, {3}); }},
      {"'image' is empty", [] { fold(image_f32({1, 6, 9}), {}, {3}); }},
      {"'strides' holds 0", [] { fold(image_f32({1, 6, 9}), {5, 4}, {3, 2}, {.strides = {1, 0}}); }},
      {"a window spans 7 elements but the padded image has 5", [] { fold(image_f32({1, 7, 1}), {5}, {7}); }},
  });
}

TEST_CASE("wrong arguments of resize") {
  const Dim n = Dim::variable("n", 1, 9);
  check_messages({
      {"empty tensor", [] { resize({}, {{.axis = 0, .length = 2}}); }},
      {"axis 2 is out of range for 2 axes", [] { resize(image_f32({2, 3}), {{.axis = 2, .length = 2}}); }},
      {"axis 1 is given twice",
       [] { resize(image_f32({2, 3}), {{.axis = 1, .length = 2}, {.axis = -1, .length = 2}}); }},
      {"resized to length 0; expected >= 1", [] { resize(image_f32({2}), {{.axis = 0}}); }},
      {"axis 0 is empty", [] { resize(image_f32({0}), {{.axis = 0, .length = 2}}); }},
      {"has the scale -1", [] { resize(image_f32({2}), {{.axis = 0, .length = 2, .scale = -1}}); }},
      {"expected less than 2^26 in all",
       [] {
         resize(image_f32({2}), {{.axis = 0, .length = 2, .scale = 1e-300}},
                {.mode = ResizeMode::kCubic, .antialias = true});
       }},
      {"symbolic length n", [&] { resize(image_f32({n}), {{.axis = 0, .length = 2}}); }},
  });
}
