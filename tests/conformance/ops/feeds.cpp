#include "tests/conformance/ops/feeds.h"

#include <cmath>
#include <limits>

namespace hearth::conformance {

using codegen::reference::Element;

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::int64_t Random::in(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
}

HostTensor ramp(ir::Scalar dtype, const Shape& shape, std::uint64_t seed, std::int64_t most) {
  Random random(seed);
  HostTensor tensor(dtype, shape);
  const bool is_unsigned = ir::is_unsigned_int(dtype);
  for (std::int64_t k = 0; k < tensor.num_elements(); ++k) {
    const std::int64_t value =
        dtype == ir::Scalar::Bool ? random.in(0, 1) : random.in(-most, most) + (is_unsigned ? most : 0);
    tensor.set(k, {value, static_cast<double>(value)});
  }
  return tensor;
}

HostTensor uniform(ir::Scalar dtype, const Shape& shape, std::uint64_t seed) {
  if (!ir::is_float(dtype)) return ramp(dtype, shape, seed);
  Random random(seed);
  HostTensor tensor(dtype, shape);
  for (std::int64_t k = 0; k < tensor.num_elements(); ++k) {
    tensor.set(k, Element::of_float(codegen::reference::round_float(dtype, random.unit() * 4 - 2)));
  }
  return tensor;
}

HostTensor edges(ir::Scalar dtype, std::int64_t shift) {
  std::vector<Element> values;
  if (ir::is_float(dtype)) {
    for (const double v : {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           double{INFINITY},
                           double{-INFINITY},
                           double{NAN},
                           0.5,
                           1.5,
                           2.5,
                           -2.5,
                           0.1,
                           -0.7,
                           3.25,
                           10.0,
                           -10.0,
                           80.0,
                           -80.0,
                           100.0,
                           1e-3,
                           1000.5,
                           -0.49999,
                           448.0,
                           464.0,
                           57344.0,
                           65504.0}) {
      values.push_back(Element::of_float(codegen::reference::round_float(dtype, v)));
    }
  } else {
    const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();
    const int width = dtype == ir::Scalar::Bool ? 1 : ir::bit_width(dtype);
    for (const std::int64_t v :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, least >> (64 - width), most >> (64 - width),
          (most >> (64 - width)) - 1, std::int64_t{2}, std::int64_t{3}, std::int64_t{-3}, std::int64_t{7},
          std::int64_t{-8}, std::int64_t{width - 1}, std::int64_t{width}, std::int64_t{100}, std::int64_t{-100},
          std::int64_t{17}, std::int64_t{5}}) {
      values.push_back(Element::of_int(codegen::reference::wrap_int(dtype, v)));
    }
  }
  HostTensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) {
    tensor.set(static_cast<std::int64_t>(k), values[(k + static_cast<std::size_t>(shift)) % values.size()]);
  }
  return tensor;
}

double epsilon(ir::Scalar scalar) {
  switch (scalar) {
    case ir::Scalar::F16:
      return 0x1p-10;
    case ir::Scalar::BF16:
      return 0x1p-7;
    case ir::Scalar::F8E4M3:
      return 0x1p-3;
    case ir::Scalar::F8E5M2:
      return 0x1p-2;
    case ir::Scalar::F32:
      return 0x1p-23;
    case ir::Scalar::F64:
      return 0x1p-52;
    default:
      return 0;
  }
}

}  // namespace hearth::conformance
