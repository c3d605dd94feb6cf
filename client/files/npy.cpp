#include "hearth/npy.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/tensor/elements.h"

namespace hearth::client {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it

struct Descr {
  std::string_view text;  // without the byte order mark
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"b1", DType::kBool}, {"i1", DType::kI8},  {"i2", DType::kI16}, {"i4", DType::kI32},
    {"i8", DType::kI64},  {"u1", DType::kU8},  {"u2", DType::kU16}, {"u4", DType::kU32},
    {"u8", DType::kU64},  {"f2", DType::kF16}, {"f4", DType::kF32}, {"f8", DType::kF64},
};

absl::Status refuse(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(str_cat(path, ": ", why));
}

// The header is a Python dictionary literal; only its three known keys and plain values are read.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> quoted() {
    skip_blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::optional<std::string> word() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (begin == at_) return std::nullopt;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::optional<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> values;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      const auto digits = word();
      if (!digits || digits->size() > 18 || digits->find_first_not_of("0123456789") != std::string::npos) {
        return std::nullopt;
      }
      values.push_back(std::stoll(*digits));
      if (!take(',') && (at_ >= text_.size() || text_[at_] != ')')) return std::nullopt;
    }
    return values;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

std::optional<Header> parse_header(std::string_view text) {
  HeaderReader reader(text);
  Header header;
  int seen = 0;
  if (!reader.take('{')) return std::nullopt;
  while (!reader.take('}')) {
    const auto key = reader.quoted();
    if (!key || !reader.take(':')) return std::nullopt;
    if (*key == "descr") {
      const auto descr = reader.quoted();
      if (!descr) return std::nullopt;
      header.descr = *descr;
      seen |= 1;
    } else if (*key == "fortran_order") {
      const auto word = reader.word();
      if (!word || (*word != "True" && *word != "False")) return std::nullopt;
      header.fortran = *word == "True";
      seen |= 2;
    } else if (*key == "shape") {
      auto shape = reader.tuple();
      if (!shape) return std::nullopt;
      header.shape = std::move(*shape);
      seen |= 4;
    } else {
      return std::nullopt;
    }
    reader.take(',');
  }
  return seen == 7 ? std::optional(header) : std::nullopt;
}

// Elements times element size; nothing on overflow.
std::optional<std::size_t> size_of(const std::vector<std::int64_t>& shape, DType dtype) {
  std::int64_t total = static_cast<std::int64_t>(dtype_bytes(dtype));
  for (std::int64_t length : shape) {
    if (length < 0 || __builtin_mul_overflow(total, length, &total)) return std::nullopt;
  }
  return static_cast<std::size_t>(total);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::int64_t length : shape) text += str_cat(length, shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) text.resize(text.size() - 2);
  return text + ")";
}

std::string_view descr_of(DType dtype) {
  for (const Descr& descr : kDescrs) {
    if (descr.dtype == dtype) return descr.text;
  }
  return {};
}

std::string widened(DType dtype, std::string_view bytes) {
  const std::size_t width = dtype_bytes(dtype);
  std::string out;
  out.reserve(bytes.size() / width * sizeof(float));
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    out += encode_float(decode_float(bytes.substr(i, width), dtype), DType::kF32);
  }
  return out;
}

}  // namespace

absl::StatusOr<Array> read_npy(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const std::string content, runtime::read_input(path));
  return parse_npy(content, runtime::input_name(path));
}

absl::StatusOr<Array> parse_npy(std::string_view content, const std::string& path) {
  if (content.substr(0, kMagic.size()) != kMagic) return refuse(path, "is not a .npy file");
  if (content.size() < 10) return refuse(path, "is a truncated .npy file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(content[i])); };
  const std::size_t major = byte(6);
  if (major != 1 && major != 2) return refuse(path, str_cat(".npy version ", major, " is not supported (1 and 2 are)"));
  const std::size_t begin = major == 1 ? 10 : 12;
  if (content.size() < begin) return refuse(path, "is a truncated .npy file");
  const std::size_t length =
      major == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (content.size() - begin < length) return refuse(path, "is a truncated .npy file");
  const auto header = parse_header(content.substr(begin, length));
  if (!header) return refuse(path, "has a .npy header that is not plain (structured arrays are not supported)");
  if (header->fortran && header->shape.size() > 1) {
    return refuse(path, "is in Fortran order; save numpy.ascontiguousarray(x) instead");
  }
  std::string_view descr = header->descr;
  if (!descr.empty() && descr[0] == '>') return refuse(path, "is big-endian; save x.astype('<' type) instead");
  if (!descr.empty() && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=')) descr.remove_prefix(1);
  for (const Descr& known : kDescrs) {
    if (known.text != descr) continue;
    const auto size = size_of(header->shape, known.dtype);
    const std::string_view data = content.substr(begin + length);
    if (!size || data.size() != *size) {
      return refuse(path, str_cat("holds ", data.size(), " bytes of data, which is not what its shape ",
                                  shape_text(header->shape), " of ", dtype_name(known.dtype), " needs"));
    }
    return Array{known.dtype, header->shape, std::string(data)};
  }
  return refuse(path, str_cat("has elements of type '", header->descr, "', which is not supported"));
}

std::optional<Array> as_dtype(Array array, DType dtype) {
  if (array.dtype == dtype) return array;
  if (array.dtype != DType::kF32 || !descr_of(dtype).empty()) return std::nullopt;
  const std::string_view wide = array.bytes;
  std::string narrow;
  narrow.reserve(wide.size() / sizeof(float) * dtype_bytes(dtype));
  for (std::size_t i = 0; i < wide.size(); i += sizeof(float)) {
    narrow += encode_float(decode_float(wide.substr(i, sizeof(float)), DType::kF32), dtype);
  }
  return Array{dtype, std::move(array.shape), std::move(narrow)};
}

absl::Status write_npy(const std::string& path, DType dtype, const std::vector<std::int64_t>& shape, const void* data,
                       std::size_t size_bytes) {
  if (size_of(shape, dtype) != size_bytes) {
    return absl::InternalError(
        str_cat(path, ": ", size_bytes, " bytes are not an array ", shape_text(shape), " of ", dtype_name(dtype)));
  }
  std::string_view bytes(static_cast<const char*>(data), size_bytes);
  std::string wide;
  if (descr_of(dtype).empty()) {
    wide = widened(dtype, bytes);
    bytes = wide;
    dtype = DType::kF32;
  }
  std::string header = str_cat("{'descr': '", dtype_bytes(dtype) == 1 ? "|" : "<", descr_of(dtype),
                               "', 'fortran_order': False, 'shape': ", shape_text(shape), ", }");
  const std::size_t total = (10 + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.append(total - 10 - header.size() - 1, ' ');
  header += '\n';
  const char lead[] = {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return runtime::write_file(path, {kMagic, {lead, sizeof lead}, header, bytes});
}

}  // namespace hearth::client
