// Elements of every dtype for table-driven tests: reading, writing and C++ semantics of each op, written without the
// code under test. An element is an exact number: an integer, or a float held in a long double.
#pragma once
#include <cstring>
#include <vector>

#include "compiler/ir/uop.h"

namespace hearth::codegen {

struct Element {
  __int128 i = 0;     // integers and bool
  long double f = 0;  // floats
};

inline const std::vector<ir::Scalar> kIntegers = {ir::Scalar::I8, ir::Scalar::I16, ir::Scalar::I32, ir::Scalar::I64,
                                                  ir::Scalar::U8, ir::Scalar::U16, ir::Scalar::U32, ir::Scalar::U64};
inline const std::vector<ir::Scalar> kFloats = {ir::Scalar::F16, ir::Scalar::BF16, ir::Scalar::F32, ir::Scalar::F64};

// Rounded or wrapped to the dtype, as its in-memory bits.
std::uint64_t encode(ir::Scalar scalar, Element value);
Element decode(ir::Scalar scalar, std::uint64_t bits);
// An interesting set of bit patterns: extremes, zeros, ones, subnormals, infinities, NaN.
std::vector<std::uint64_t> samples(ir::Scalar scalar);
// Same value, where every NaN equals every NaN; `any_zero` makes -0 equal 0.
bool same(ir::Scalar scalar, std::uint64_t a, std::uint64_t b, bool any_zero);

// The op on elements of one dtype, as uop.h states it.
Element apply(ir::Op op, ir::Scalar scalar, Element a, Element b, Element c);
Element convert(ir::Scalar from, ir::Scalar to, Element value);

// A buffer of elements.
class Elements {
 public:
  Elements(ir::Scalar scalar, std::size_t count);
  std::uint64_t bits(std::size_t i) const;
  void set(std::size_t i, std::uint64_t bits);
  void* data() { return bytes_.data(); }

 private:
  std::size_t width_;
  std::vector<unsigned char> bytes_;
};

}  // namespace hearth::codegen
