// sin and cos: |x| = (4 j + q + r) quarter turns, |r| about 1/2 at most, for every finite x; then polynomials in r.
//
// The reduction multiplies by the bits of 2/pi that matter for x's exponent (Payne and Hanek 1983): bits whose product
// with x is a multiple of four quarter turns are left out, the others give r to more than its precision.
#include <array>
#include <vector>

#include "compiler/passes/lowered/decompose_value.h"

namespace hearth::passes {

namespace {

struct Reduced {
  Value quarter;   // integer; q is its low two bits
  Value fraction;  // r, f64
};

// 2/pi without the bits worth 2^(25 - 26 g) or more, in pieces of 29, 29 and 53 bits, for 2^(26 g) <= |x|.
constexpr double kTwoOverPi[5][3] = {
    {0x1.45f306d000000p-1, 0x1.9391054000000p-30, 0x1.4fe13abe8fa9ap-59},
    {0x1.17cc1b6000000p-3, 0x1.27220a9000000p-31, 0x1.3f84eafa3ea6ap-61},
    {0x1.c9c882a000000p-29, 0x1.4fe13a8000000p-59, 0x1.f47d4d377036ep-86},
    {0x1.4a7f09d000000p-54, 0x1.7d1f534000000p-84, 0x1.bb81b6c52b328p-113},
    {0x1.57d1f53000000p-80, 0x1.377036c000000p-110, 0x1.8a5664f10e410p-138},
};

// f32: x times the pieces is exact (24 + 29 bits) in f64.
Reduced reduce_f32(Value x) {
  Value wide = x.to(ir::Scalar::F64), magnitude = abs(wide);
  std::array<Value, 3> c = {wide.number(kTwoOverPi[0][0]), wide.number(kTwoOverPi[0][1]),
                            wide.number(kTwoOverPi[0][2])};
  constexpr double kFrom[] = {0, 0x1p26, 0x1p52, 0x1p78, 0x1p104};
  for (int g = 1; g < 5; ++g) {
    Value smaller = magnitude < kFrom[g];
    for (int i = 0; i < 3; ++i)
      c[static_cast<std::size_t>(i)] = select(smaller, c[static_cast<std::size_t>(i)], kTwoOverPi[g][i]);
  }
  constexpr double kMagic = 6755399441055744.0;  // rounds to an integer, left in the low bits
  Value p0 = wide * c[0], p1 = wide * c[1], p2 = wide * c[2];
  Value t0 = p0 + kMagic, t1 = p1 + kMagic;
  Value f0 = p0 - (t0 - kMagic), f1 = p1 - (t1 - kMagic);
  Value t2 = (f0 + f1) + kMagic;
  Value fraction = ((f0 - (t2 - kMagic)) + f1) + p2;
  return {bits(t0) + bits(t1) + bits(t2), fraction};
}

// The first 1152 bits of 2/pi behind two zero words.
constexpr std::uint64_t kTwoOverPiWords[20] = {
    0x0000000000000000, 0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
};

Value high_product(Value a, Value b) {
  Value low = a.whole(0xffffffff);
  Value a0 = a & low, a1 = a >> 32, b0 = b & low, b1 = b >> 32;
  Value middle = a1 * b0 + ((a0 * b0) >> 32);
  Value other = a0 * b1 + (middle & low);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

// f64, |x| >= 1/2: 64 mantissa bits times 192 bits of 2/pi as integers; the top two bits of the product are q.
Reduced reduce_f64(Value x) {
  ir::DType word(ir::Scalar::U64, x.dtype().lanes);
  Value b{x.graph, x.graph->make(ir::Op::Bitcast, word, {abs(x).node})};
  Value mantissa = (b << 11) | b.whole(std::numeric_limits<std::int64_t>::min());
  Value shift = (b >> 52) - b.whole(1022 - 62);
  Value index = shift >> 6, rest = shift & b.whole(63);
  // words[i] = kTwoOverPiWords[index + i], one bit of the index at a time.
  std::vector<Value> words;
  for (std::uint64_t each : kTwoOverPiWords) words.push_back(b.whole(static_cast<std::int64_t>(each)));
  for (int bit = 16; bit >= 1; bit /= 2) {
    Value set = (index & b.whole(bit)) != b.whole(0);
    std::size_t step = static_cast<std::size_t>(bit);
    std::size_t needed = bit == 16 ? 20 - step : 4 + step - 1;
    for (std::size_t i = 0; i < needed; ++i) words[i] = select(set, words[i + step], words[i]);
  }
  Value back = b.whole(64) - rest;
  auto funnel = [&](Value high, Value low) { return high.binary(ir::Op::Shl, rest) | low.binary(ir::Op::Shr, back); };
  Value high = funnel(words[0], words[1]), middle = funnel(words[1], words[2]), low = funnel(words[2], words[3]);
  Value product_low = mantissa * middle, carry_in = high_product(mantissa, low);
  Value tail = product_low + carry_in;
  Value carry = (tail < carry_in).to(ir::Scalar::U64);
  Value top = mantissa * high + high_product(mantissa, middle) + carry;
  Value quarter = (top + b.whole(std::int64_t{1} << 61)) >> 62;
  Value near = (top - (quarter << 62)).to(ir::Scalar::I64).to(ir::Scalar::F64);
  Value fraction = (near + tail.to(ir::Scalar::F64) * 0x1p-64) * 0x1p-62;
  return {quarter.to(ir::Scalar::I64), fraction};
}

// sin or cos of a quarter turn's `fraction` past `quarter` quarter turns (cos: one more). f64 in, f64 out.
Value sine_of(Reduced reduced, bool is_precise) {
  Value r = reduced.fraction, z = r * r, q = reduced.quarter;
  Value sine = r * (is_precise ? polynomial(z, {0x1.921fb54442d18p+0, -0x1.4abbce625be53p-1, 0x1.466bc6775aad4p-4,
                                                -0x1.32d2cce62a3cfp-8, 0x1.5078348503051p-13, -0x1.e3074a1b838bep-19,
                                                0x1.e8ede7cd2439ap-25, -0x1.6c16878d885e7p-31})
                               : polynomial(z, {0x1.921fb54437ca0p+0, -0x1.4abbce526979ap-1, 0x1.466bb7b548f90p-4,
                                                -0x1.32c93c709b60ap-8, 0x1.4b6769258b6d0p-13}));
  Value cosine = is_precise ? polynomial(z, {0x1.0000000000000p+0, -0x1.3bd3cc9be45dep+0, 0x1.03c1f081b5ac4p-2,
                                             -0x1.55d3c7e3cbfe6p-6, 0x1.e1f5068918b1fp-11, -0x1.a6d1f29e0b06dp-16,
                                             0x1.f9d383f9fc244p-22, -0x1.b6dc996ea59cdp-28, 0x1.1df43602e1c69p-34})
                            : polynomial(z, {0x1.ffffffff65e31p-1, -0x1.3bd3cc642d480p+0, 0x1.03c1d6b8ac188p-2,
                                             -0x1.55c310e199115p-6, 0x1.d919ac6a56a20p-11});
  Value chosen = select((q & q.whole(1)) == q.whole(0), sine, cosine);
  return from_bits(bits(chosen) ^ ((q & q.whole(2)) << 62));
}

Value lower(Value x, bool is_cosine) {
  if (!x.is_f64()) {
    Reduced reduced = reduce_f32(x);
    if (is_cosine) reduced.quarter = reduced.quarter + reduced.quarter.whole(1);
    return sine_of(reduced, false).to(ir::Scalar::F32);
  }
  Value magnitude = abs(x);
  Value small = magnitude < 0.75;
  Reduced reduced = reduce_f64(x);
  reduced.quarter = select(small, reduced.quarter.whole(0), reduced.quarter);
  reduced.fraction = select(small, magnitude * 0.63661977236758134308, reduced.fraction);
  if (is_cosine) reduced.quarter = reduced.quarter + reduced.quarter.whole(1);
  Value result = sine_of(reduced, true);
  if (!is_cosine) {
    Value sign = bits(x) & bits(x).whole(std::numeric_limits<std::int64_t>::min());
    result = select(magnitude < 0x1p-27, x, from_bits(bits(result) ^ sign));
  }
  return select(magnitude < kInfinity, result, kNaN);
}

}  // namespace

Value lower_sin(Value x) { return lower(x, false); }
Value lower_cos(Value x) { return lower(x, true); }

}  // namespace hearth::passes
