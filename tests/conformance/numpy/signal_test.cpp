#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

OpCase transformed(std::string name, DftConfig config, double absolute = 1e-5) {
  return {std::move(name), [=](const Tensors& in) { return Tensors{dft(in[0], config)}; }, 1e-5, absolute};
}

OpCase made(std::string name, std::function<Tensors()> record) {
  return {std::move(name), [=](const Tensors&) { return record(); }, 1e-6, 1e-6};
}

const std::vector<std::vector<std::int64_t>> kGrams = {{1, 2}, {3}, {2, 2, 1}, {3, 1}, {1}, {7, 7}};

OpCase counted(std::string name, std::int64_t max_skip) {
  return {std::move(name), [=](const Tensors& in) { return Tensors{count_ngrams(in[0], kGrams, max_skip)}; }};
}

}  // namespace

TEST_CASE("transforms, windows and n-grams give numpy's results") {
  // Sums of hundreds of f32 products: the error grows with their number, the results with its root.
  const double long_sum = 1e-4;
  check_family(
      "signal",
      {
          transformed("dft_real", {}),
          transformed("dft_complex", {.axis = -3}),
          transformed("dft_inverse", {.axis = 2, .inverse = true}),
          transformed("dft_onesided", {.onesided = true}),
          transformed("dft_onesided_inverse_even", {.inverse = true, .onesided = true}),
          transformed("dft_onesided_inverse_odd", {.length = 11, .inverse = true, .onesided = true}),
          transformed("dft_onesided_inverse_longer", {.length = 15, .inverse = true, .onesided = true}),
          transformed("dft_onesided_inverse_shorter", {.length = 4, .inverse = true, .onesided = true}),
          transformed("dft_onesided_inverse_real", {.inverse = true, .onesided = true}),
          transformed("dft_longer", {.length = 13}),
          transformed("dft_shorter", {.length = 7}),
          transformed("dft_67", {}),
          transformed("dft_130", {}),
          transformed("dft_480", {}, long_sum),
          transformed("dft_1024_onesided", {.onesided = true}, long_sum),
          {"dft_f64", [](const Tensors& in) { return Tensors{dft(in[0], {.inverse = true})}; }, 1e-12, 1e-12},
          {"stft", [](const Tensors& in) { return Tensors{stft(in[0], in[1], 5)}; }, 1e-5, 1e-5},
          {"stft_complex", [](const Tensors& in) { return Tensors{stft(in[0], in[1], 3, false)}; }, 1e-5, 1e-5},
          made("hann", [] { return Tensors{hann_window(9, false), hann_window(10)}; }),
          made("hamming", [] { return Tensors{hamming_window(9, false), hamming_window(10)}; }),
          made("blackman", [] { return Tensors{blackman_window(9, false), blackman_window(1, false)}; }),
          made("mel",
               [] {
                 return Tensors{mel_weight_matrix(
                     {.bins = 8, .dft_length = 64, .sample_rate = 8000, .low_hertz = 50, .high_hertz = 3900})};
               }),
          counted("ngrams", 0),
          counted("ngrams_skip", 3),
          counted("ngrams_row", 1),
      });
}
