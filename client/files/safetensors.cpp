#include "hearth/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // as the format's own reader

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"BOOL", DType::kBool}, {"U8", DType::kU8},          {"I8", DType::kI8},         {"U16", DType::kU16},
    {"I16", DType::kI16},   {"F16", DType::kF16},        {"BF16", DType::kBF16},     {"U32", DType::kU32},
    {"I32", DType::kI32},   {"F32", DType::kF32},        {"U64", DType::kU64},       {"I64", DType::kI64},
    {"F64", DType::kF64},   {"F8_E4M3", DType::kF8E4M3}, {"F8_E5M2", DType::kF8E5M2}};

absl::Status wrong(std::string_view message) { return absl::InvalidArgumentError(as_alpha(message)); }

// The header's JSON, in which no name stands twice.
absl::StatusOr<Json> parse_header(std::string_view text) {
  std::set<std::string> names;
  std::string twice;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  Json header = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) return wrong("the header is no JSON object");
  if (!twice.empty()) return wrong(str_cat("tensor '", twice, "' is given twice"));
  return header;
}

absl::StatusOr<std::vector<std::int64_t>> numbers(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return wrong(str_cat("'", key, "' is no list"));
  std::vector<std::int64_t> values;
  for (const Json& item : *found) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      return wrong(str_cat("'", key, "' holds what is no length"));
    }
    values.push_back(item.get<std::int64_t>());
  }
  return values;
}

absl::StatusOr<DType> dtype_named(const Json& entry) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) return wrong("'dtype' is no name");
  for (const auto& [name, dtype] : kTypes) {
    if (found->get<std::string>() == name) return dtype;
  }
  return absl::UnimplementedError(str_cat("dtype '", found->get<std::string>(), "' is not supported"));
}

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name;
};

absl::StatusOr<ArrayView> read_entry(const Json& entry, std::string_view data, Range* range) {
  if (!entry.is_object()) return wrong("is no object");
  HEARTH_ASSIGN_OR_RETURN(const DType dtype, dtype_named(entry));
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::int64_t> shape, numbers(entry, "shape"));
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::int64_t> offsets, numbers(entry, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || static_cast<std::uint64_t>(offsets[1]) > data.size()) {
    return wrong(str_cat("'data_offsets' lie outside the ", data.size(), " bytes of data"));
  }
  range->begin = offsets[0];
  range->end = offsets[1];
  const auto size = static_cast<std::size_t>(range->end - range->begin);
  ArrayView view(data.data() + range->begin, size, dtype, std::move(shape));
  HEARTH_RETURN_IF_ERROR(check_array(view, "the tensor"));
  return view;
}

// The data is covered without holes or overlaps, as the format demands.
absl::Status check_coverage(std::vector<Range> ranges, std::size_t size) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::int64_t at = 0;
  for (const Range& range : ranges) {
    if (range.begin != at) {
      return wrong(str_cat("tensor '", range.name, "' begins at byte ", range.begin, " of the data; expected ", at));
    }
    at = range.end;
  }
  if (static_cast<std::size_t>(at) != size)
    return wrong(str_cat(size - static_cast<std::size_t>(at), " bytes at the end belong to no tensor"));
  return absl::OkStatus();
}

absl::Status in_file(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), str_cat(path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<Safetensors> Safetensors::parse(std::string_view content, const std::string& path,
                                               std::shared_ptr<const void> owner) {
  std::uint64_t length = 0;
  if (content.size() < kLengthBytes) return in_file(path, wrong("is shorter than 8 bytes"));
  std::memcpy(&length, content.data(), sizeof(length));
  if (length > kMaxHeaderBytes || length > content.size() - kLengthBytes) {
    return in_file(path, wrong(str_cat("the header's length ", length, " is beyond the file's ", content.size(),
                                       " bytes or the format's limit")));
  }
  const absl::StatusOr<Json> header = parse_header(content.substr(kLengthBytes, length));
  if (!header.ok()) return in_file(path, header.status());
  const std::string_view data = content.substr(kLengthBytes + length);
  Safetensors file;
  file.path_ = path;
  file.owner_ = std::move(owner);
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return in_file(path, wrong("'__metadata__' is no object"));
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return in_file(path, wrong(str_cat("metadata '", key, "' is no text")));
        file.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    Range range;
    range.name = name;
    absl::StatusOr<ArrayView> view = read_entry(entry, data, &range);
    if (!view.ok()) {
      return in_file(path,
                     absl::Status(view.status().code(), str_cat("tensor '", name, "': ", view.status().message())));
    }
    ranges.push_back(std::move(range));
    file.tensors_.emplace(name, *std::move(view));
  }
  if (absl::Status covered = check_coverage(std::move(ranges), data.size()); !covered.ok())
    return in_file(path, covered);
  return file;
}

absl::StatusOr<Safetensors> Safetensors::open(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::MappedFile> file, runtime::MappedFile::open(path));
  if (file->bytes().empty()) return in_file(path, wrong("is empty"));
  return parse(file->bytes(), path, file);
}

absl::StatusOr<ArrayView> Safetensors::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  const auto next = tensors_.lower_bound(name);
  std::string hint = "it holds none";
  if (!tensors_.empty()) {
    hint = str_cat("it holds ", tensors_.size(), ", e.g. '", (next == tensors_.end() ? std::prev(next) : next)->first,
                   "'");
  }
  return absl::NotFoundError(str_cat(path_, ": there is no tensor '", name, "' (", hint, ")"));
}

Tensor Safetensors::parameter(std::string_view name, Loc loc) const {
  const absl::StatusOr<ArrayView> view = find(name);
  if (!view.ok()) throw JitError(view.status());
  return client::parameter(name, {view->shape.begin(), view->shape.end()}, view->dtype,
                           {view->data, view->size_bytes, owner_}, loc);
}

}  // namespace hearth::client
