#include "compiler/ir/dtype.h"

#include <charconv>
#include <limits>

namespace hearth::ir {
namespace {

struct Row {
  const char* name;
  int bits;
  int bytes;
};
constexpr Row kRows[] = {{"void", 0, 0},   {"bool", 1, 1},  {"i8", 8, 1},   {"i16", 16, 2}, {"i32", 32, 4},
                         {"i64", 64, 8},   {"u8", 8, 1},    {"u16", 16, 2}, {"u32", 32, 4}, {"u64", 64, 8},
                         {"f16", 16, 2},   {"bf16", 16, 2}, {"f32", 32, 4}, {"f64", 64, 8}, {"f8e4m3", 8, 1},
                         {"f8e5m2", 8, 1}, {"index", 64, 8}};
const Row& row(DType t) { return kRows[static_cast<int>(t.scalar)]; }

}  // namespace

int bit_width(DType t) { return row(t).bits; }
int byte_size(DType t) { return row(t).bytes; }

std::int64_t int_min(DType t) {
  if (is_bool(t) || is_unsigned_int(t)) return 0;
  return bit_width(t) == 64 ? std::numeric_limits<std::int64_t>::min() : -(std::int64_t{1} << (bit_width(t) - 1));
}

std::int64_t int_max(DType t) {
  if (is_bool(t)) return 1;
  if (bit_width(t) == 64) return std::numeric_limits<std::int64_t>::max();
  return (std::int64_t{1} << (is_unsigned_int(t) ? bit_width(t) : bit_width(t) - 1)) - 1;
}

std::string to_string(DType t) {
  std::string text = row(t).name;
  if (t.lanes != 1) text += "x" + std::to_string(t.lanes);
  return text;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i) {
    std::string_view name = kRows[i].name;
    if (text.substr(0, name.size()) != name) continue;
    std::string_view rest = text.substr(name.size());
    if (rest.empty()) return DType(static_cast<Scalar>(i));
    if (rest[0] != 'x') continue;
    unsigned lanes = 0;
    auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), lanes);
    if (error == std::errc() && end == rest.data() + rest.size() && lanes > 0 && lanes <= 1024)
      return DType(static_cast<Scalar>(i), lanes);
  }
  return std::nullopt;
}

}  // namespace hearth::ir
