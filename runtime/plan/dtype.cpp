#include "hearth/dtype.h"

#include <array>

namespace hearth {
namespace {

struct Traits {
  std::string_view name;
  std::uint8_t bytes;
  bool floating;
  bool integer;
  bool has_sign;
};

// Indexed by the wire number.
constexpr std::array<Traits, 16> kTraits = {{
    {"none", 0, false, false, false},
    {"bool", 1, false, false, false},
    {"i8", 1, false, true, true},
    {"i16", 2, false, true, true},
    {"i32", 4, false, true, true},
    {"i64", 8, false, true, true},
    {"u8", 1, false, true, false},
    {"u16", 2, false, true, false},
    {"u32", 4, false, true, false},
    {"u64", 8, false, true, false},
    {"f16", 2, true, false, true},
    {"bf16", 2, true, false, true},
    {"f32", 4, true, false, true},
    {"f64", 8, true, false, true},
    {"f8e4m3", 1, true, false, true},
    {"f8e5m2", 1, true, false, true},
}};

const Traits& traits(DType type) { return kTraits[static_cast<std::size_t>(type) & 15]; }

}  // namespace

std::optional<DType> dtype_from_wire(int wire) {
  if (wire < 1 || wire >= static_cast<int>(kTraits.size())) return std::nullopt;
  return static_cast<DType>(wire);
}

std::string_view dtype_name(DType type) { return traits(type).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t wire = 1; wire < kTraits.size(); ++wire) {
    if (kTraits[wire].name == name) return static_cast<DType>(wire);
  }
  return std::nullopt;
}

std::size_t dtype_bytes(DType type) { return traits(type).bytes; }
bool is_float(DType type) { return traits(type).floating; }
bool is_integer(DType type) { return traits(type).integer; }
bool is_signed(DType type) { return traits(type).has_sign; }

}  // namespace hearth
