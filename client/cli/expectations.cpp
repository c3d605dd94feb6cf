#include "client/cli/expectations.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/array_file.h"
#include "client/cli/checks.h"
#include "client/cli/format.h"
#include "client/cli/model_flags.h"
#include "client/tensor/elements.h"

namespace hearth::cli {
namespace {

bool is_whole(DType dtype) { return dtype == DType::kBool || is_integer(dtype); }

// Elements as numbers; whole ones beyond 2^53 are told apart by their bytes before.
double number_at(const client::Array& array, std::size_t element) {
  const std::size_t width = dtype_bytes(array.dtype);
  const std::string_view bytes = std::string_view(array.bytes).substr(element * width, width);
  return is_whole(array.dtype) ? static_cast<double>(client::decode_integer(bytes, array.dtype))
                               : client::decode_float(bytes, array.dtype);
}

std::vector<std::int64_t> place_of(std::size_t element, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = static_cast<std::int64_t>(element % static_cast<std::size_t>(shape[axis]));
    element /= static_cast<std::size_t>(shape[axis]);
  }
  return place;
}

// How far apart, in what is allowed: 0 for equal ones, above 1 for those beyond it.
double distance(double got, double expected, double allowed) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double apart = std::fabs(got - expected);
  if (!std::isfinite(expected) || !std::isfinite(apart)) return INFINITY;
  return allowed > 0 ? apart / allowed : INFINITY;
}

Comparison compare_one(const std::string& name, const client::Array& got, const client::Array& want,
                       const Tolerance& tolerance) {
  Comparison result;
  result.output = name;
  if (is_whole(got.dtype) != is_whole(want.dtype) || (got.dtype == DType::kBool) != (want.dtype == DType::kBool)) {
    result.mismatch = str_cat("is ", dtype_name(got.dtype), ", expected ", dtype_name(want.dtype));
    return result;
  }
  if (got.shape != want.shape) {
    result.mismatch = str_cat("is ", shape_text(got.shape), ", expected ", shape_text(want.shape));
    return result;
  }
  const bool is_exact = is_whole(got.dtype) && !tolerance.rtol && !tolerance.atol;
  const double rtol = is_exact ? 0 : tolerance.rtol.value_or(is_whole(got.dtype) ? 0 : Tolerance::kRtol);
  const double atol = is_exact ? 0 : tolerance.atol.value_or(is_whole(got.dtype) ? 0 : Tolerance::kAtol);
  const std::size_t width = dtype_bytes(got.dtype);
  result.elements = got.bytes.size() / width;
  double worst = 0;
  for (std::size_t i = 0; i < result.elements; ++i) {
    if (got.dtype == want.dtype && got.bytes.compare(i * width, width, want.bytes, i * width, width) == 0) continue;
    const double a = number_at(got, i), b = number_at(want, i), allowed = atol + rtol * std::fabs(b);
    double far = distance(a, b, allowed);
    if (is_whole(got.dtype) && far == 0) far = INFINITY;  // beyond 2^53
    if (far > 1) ++result.beyond;
    if (far <= worst) continue;
    worst = far;
    result.differs = true;
    result.place = place_of(i, got.shape);
    result.got = a, result.expected = b, result.allowed = allowed;
  }
  return result;
}

}  // namespace

void ExpectFlags::add_to(CLI::App& command) {
  add_repeated(
      command, "--expect", arrays,
      "Array that this output has to equal, as --input takes it; where it does not, the worst element is shown and the "
      "status is 1")
      ->type_name("NAME=FILE")
      ->each(unique_name("--expect"));
  command
      .add_option(
          "--test-data", test_data,
          "Folder with input_N.pb and output_N.pb, or with folders test_data_set_N of them, as ONNX's test cases "
          "and models have them: its inputs are run, its outputs expected")
      ->type_name("FOLDER")
      ->check(not_empty());
  const auto add = [&](const char* flag, std::optional<double>& place, double usual, const char* of) {
    command
        .add_option(flag, place,
                    str_cat("With --expect: how far an element may be off, ", of, "; without it ", usual,
                            " for floats, and whole numbers are equal"))
        ->type_name("X")
        ->check(number_in(0, 1e30));
  };
  add("--rtol", tolerance.rtol, Tolerance::kRtol, "as a share of what is expected");
  add("--atol", tolerance.atol, Tolerance::kAtol, "beside that share");
}

absl::StatusOr<Expected> read_expected(const ExpectFlags& flags, const onnx::ImportedModel& model, OutputFiles& files) {
  Expected expected;
  for (const std::string& text : flags.arrays) {
    HEARTH_ASSIGN_OR_RETURN(const auto flag, split_flag("--expect", text, kArrayForm));
    std::vector<std::string> names;
    for (const onnx::ModelValue& result : model.results) names.push_back(result.name);
    if (std::ranges::find(names, flag.first) == names.end()) {
      return absl::InvalidArgumentError(str_cat("--expect ", text, ": there is no output '", flag.first,
                                                "'; there are: '", absl::StrJoin(names, "', '"), "'"));
    }
    HEARTH_ASSIGN_OR_RETURN(ArrayFile given, read_array_file("--expect", flag.second));
    files.reads(given.path, str_cat("the array of --expect ", flag.first));
    const auto result = std::ranges::find(model.results, flag.first, &onnx::ModelValue::name);
    if (!given.stored.empty() && given.stored != result->stored) {
      return absl::InvalidArgumentError(str_cat("--expect ", text, ": output '", flag.first, "' has type ",
                                                result->stored.empty() ? dtype_name(result->dtype) : result->stored,
                                                ", not ", given.stored));
    }
    expected.insert_or_assign(flag.first, std::move(given.array));
  }
  return expected;
}

std::string Comparison::text() const {
  if (!mismatch.empty()) return str_cat("output '", output, "' ", mismatch);
  const auto at = [&] {
    return str_cat(" at ", shape_text(place), ": ", got, ", expected ", expected, ", may be ", allowed, " off");
  };
  if (beyond == 0)
    return str_cat("output '", output, "' is as expected", differs ? str_cat("; furthest off", at()) : ", bit for bit");
  return str_cat("output '", output, "' is not as expected: ", beyond, " of ", elements,
                 elements == 1 ? " element" : " elements", "; the worst", at());
}

std::vector<Comparison> compare(const Expected& expected, const onnx::ImportedModel& model,
                                const std::vector<client::Array>& results, const Tolerance& tolerance) {
  std::vector<Comparison> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto found = expected.find(model.results[i].name);
    if (found != expected.end()) all.push_back(compare_one(found->first, results[i], found->second, tolerance));
  }
  return all;
}

}  // namespace hearth::cli
