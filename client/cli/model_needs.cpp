#include "client/cli/model_needs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "base/text.h"
#include "client/cli/print.h"
#include "client/cli/shell_text.h"
#include "client/tensor/elements.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string element_text(std::string_view bytes, DType dtype) {
  if (dtype == DType::kBool) return client::decode_integer(bytes, dtype) != 0 ? "true" : "false";
  return is_float(dtype) ? str_cat(client::decode_float(bytes, dtype)) : str_cat(client::decode_integer(bytes, dtype));
}

bool is_ranged(const onnx::DimSearch& dims, const std::string& dim) {
  return std::find(dims.ranged.begin(), dims.ranged.end(), dim) != dims.ranged.end();
}

// Which lengths were tried and what came of it.
std::string tried_text(const onnx::DimSearch& dims, const std::string& dim) {
  const onnx::DimRange& length = dims.lengths.at(dim);
  if (is_ranged(dims, dim)) {
    const onnx::DimRange& range = dims.ranges.at(dim);
    return str_cat(", or --dim ", dim, "=MIN:MAX for one plan of all lengths (checked with ", length.min, " and ",
                   range.min, ":", range.max, ")");
  }
  const onnx::TriedLengths& tried = dims.tried.at(dim);
  if (tried.fail.empty()) return str_cat(" (", absl::StrJoin(tried.hold, ", "), " hold, no range)");
  return str_cat(" (", absl::StrJoin(tried.hold, ", "), tried.hold.size() == 1 ? " holds" : " hold", "; not ",
                 absl::StrJoin(tried.fail, ", "), ")");
}

}  // namespace

std::string constant_text(const client::Array& value) {
  std::vector<std::string> elements;
  const std::size_t size = dtype_bytes(value.dtype);
  for (std::size_t at = 0; at + size <= value.bytes.size(); at += size)
    elements.push_back(element_text(std::string_view(value.bytes).substr(at, size), value.dtype));
  return value.shape.empty() ? absl::StrJoin(elements, ",") : str_cat("[", absl::StrJoin(elements, ","), "]");
}

void print_needs(const onnx::DimSearch& dims) {
  for (const auto& [name, value] : dims.constants) {
    std::vector<std::string> compared;
    if (const auto found = dims.compared.find(name); found != dims.compared.end() && value.dtype != DType::kBool) {
      for (const client::Array& other : found->second) compared.push_back(constant_text(other));
    }
    print_line("needs --const ", name, "=VALUE, which decides what it computes (what follows is for ",
               constant_text(value),
               compared.empty() ? "" : "; the model compares it with " + absl::StrJoin(compared, ", "), ")");
  }
  for (const std::string& dim : dims.open) print_line("needs --dim ", dim, "=N", tried_text(dims, dim));
  for (const auto& [dim, text] : dims.expressions)
    print_line("needs --dim ", shell_word(str_cat(dim, "=", text)), ", the length that its operators want");
}

Json dims_json(const onnx::DimSearch& dims) {
  Json list = Json::array();
  for (const std::string& dim : dims.open) {
    const bool ranged = is_ranged(dims, dim);
    Json item = {{"name", dim}, {"may_be_range", ranged}, {"checked_with", dims.lengths.at(dim).min}};
    if (ranged) {
      item["range"] = {dims.ranges.at(dim).min, dims.ranges.at(dim).max};
    } else {
      item["hold"] = dims.tried.at(dim).hold;
      item["fail"] = dims.tried.at(dim).fail;
    }
    list.push_back(std::move(item));
  }
  for (const auto& [dim, text] : dims.expressions) list.push_back({{"name", dim}, {"expression", text}});
  return list;
}

Json constants_json(const onnx::DimSearch& dims) {
  Json list = Json::array();
  for (const auto& [name, value] : dims.constants) {
    Json item = {{"name", name}, {"value", constant_text(value)}};
    if (const auto found = dims.compared.find(name); found != dims.compared.end() && value.dtype != DType::kBool) {
      for (const client::Array& other : found->second) item["compared_with"].push_back(constant_text(other));
    }
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace hearth::cli
