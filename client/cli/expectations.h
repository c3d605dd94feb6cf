// Whether a run's outputs are what was expected: arrays of files beside those of a replay. Errors: status naming flag,
// file or output; an output that is not as expected is no error but a Comparison.
//
//   for (const Comparison& c : compare(model, results, tolerance)) ok &= c.is_right();
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/output_files.h"
#include "hearth/array.h"
#include "hearth/onnx.h"

namespace hearth::cli {

// |got - expected| <= atol + rtol |expected|. NaN equals NaN, an infinity itself. Whole numbers and booleans are equal
// or not, unless one of the two was given.
struct Tolerance {
  std::optional<double> rtol, atol;
  static constexpr double kRtol = 1e-3, kAtol = 1e-5;  // of floats, where none is given
};

struct ExpectFlags {
  std::vector<std::string> arrays;  // NAME=FILE.npy
  std::string test_data;            // folder
  Tolerance tolerance;

  void add_to(CLI::App& command);
};

using Expected = std::map<std::string, client::Array>;  // by output

// Reads what --expect names. Names that are no outputs of the model are refused.
absl::StatusOr<Expected> read_expected(const ExpectFlags& flags, const onnx::ImportedModel& model, OutputFiles& files);

struct Comparison {
  std::string output;
  std::string mismatch;  // of type or shape: nothing else is compared then
  std::size_t elements = 0, beyond = 0;
  // The element that is furthest beyond what is allowed, or nearest to that; nothing where all are equal.
  std::vector<std::int64_t> place;
  double got = 0, expected = 0, allowed = 0;
  bool differs = false;

  bool is_right() const { return mismatch.empty() && beyond == 0; }
  std::string text() const;  // a sentence
};

// In the order of the model's results, of those that are expected.
std::vector<Comparison> compare(const Expected& expected, const onnx::ImportedModel& model,
                                const std::vector<client::Array>& results, const Tolerance& tolerance);

}  // namespace hearth::cli
