#include <cstdlib>

#include "tests/conformance/ops/random_generator.h"

namespace hearth::conformance {

RandomGraph Generator::generate() {
  make_variables();
  for (std::int64_t k = random_.in(2, 3); k > 0; --k) leaf();
  const std::int64_t wanted = random_.in(3, 14);
  for (int attempt = 0, made = 0; made < wanted && attempt < 200; ++attempt) made += step() ? 1 : 0;
  const std::int64_t outputs = random_.in(1, 3);
  builder_.output(values_.back().node);
  for (std::int64_t k = 1; k < outputs; ++k) builder_.output(random_.pick(values_).node);
  RandomGraph result;
  result.graph = builder_.graph();
  result.feeds = std::move(feeds_);
  result.errors.assign(static_cast<std::size_t>(result.graph.nodes_size()), 0);
  for (const Value& value : values_) result.errors[value.node] = value.error;
  return result;
}

Dims Generator::exprs(const std::vector<Length>& shape) {
  Dims dims;
  for (const Length& length : shape) dims.push_back(length.expr);
  return dims;
}

void Generator::make_variables() {
  feeds_.resize(kFeeds);
  for (std::int64_t k = random_.in(0, 2); k > 0; --k) {
    const std::int64_t least = random_.in(0, 3), most = random_.in(least, least + 5);
    const std::string name(1, static_cast<char>('a' + feeds_[0].vars.size()));
    Length length{builder_.var(name, least, most), {least, most, random_.in(least, most)}, name, false};
    for (int f = 0; f < kFeeds; ++f) feeds_[f].vars.push_back(length.at[f]);
    variables_.push_back(length);
  }
}

Scalar Generator::any_dtype() {
  static const std::vector<Scalar> kBeforeFp8 = {Scalar::F32,  Scalar::F32, Scalar::F32, Scalar::F64, Scalar::F16,
                                                 Scalar::BF16, Scalar::I32, Scalar::I64, Scalar::I8,  Scalar::U8,
                                                 Scalar::I16,  Scalar::U16, Scalar::U32, Scalar::U64, Scalar::Bool};
  static const std::vector<Scalar> kAll = [] {
    std::vector<Scalar> all = kBeforeFp8;
    all.insert(all.end(), kFp8.begin(), kFp8.end());
    return all;
  }();
  return random_.pick(palette_ == Palette::kBeforeFp8 ? kBeforeFp8 : kAll);
}

std::vector<Length> Generator::any_shape() {
  if (!values_.empty() && random_.one_in(2)) return random_.pick(values_).shape;
  std::vector<Length> shape;
  for (std::int64_t rank = random_.in(0, 3); rank > 0; --rank) {
    shape.push_back(!variables_.empty() && random_.one_in(3) ? random_.pick(variables_)
                                                             : fixed(random_.one_in(12) ? 0 : random_.in(1, 7)));
  }
  return shape;
}

bool Generator::add(Node node, Scalar dtype, std::vector<Length> shape, double bound, double error) {
  if (ir::is_float(dtype) && error == 0 && bound > exact_limit(dtype)) error = bound * epsilon(dtype);
  values_.push_back({node, dtype, std::move(shape), bound, error});
  return true;
}

bool Generator::moved(const Value& x, Node node, std::vector<Length> shape) {
  return add(node, x.dtype, std::move(shape), x.bound, x.error);
}

void Generator::leaf() {
  const Scalar dtype = any_dtype();
  std::vector<Length> shape = any_shape();
  // fp8 has few exact integers: with ones, sums of them are still exact.
  const std::int64_t most = ir::is_float(dtype) && ir::byte_size(dtype) == 1 && random_.one_in(2) ? 1 : 7;
  const double bound = dtype == Scalar::Bool ? 1 : static_cast<double>(ir::is_unsigned_int(dtype) ? 2 * most : most);
  if (random_.one_in(8)) {
    const auto value = static_cast<std::int64_t>(dtype == Scalar::Bool ? random_.in(0, 1) : random_.in(0, most));
    add(builder_.fill(wire(dtype), {value, static_cast<double>(value)}, exprs(shape)), dtype, shape, bound);
    return;
  }
  const bool is_fixed = std::ranges::all_of(shape, [](const Length& length) { return length.is_fixed; });
  const Node node = random_.one_in(4) && is_fixed ? builder_.parameter(wire(dtype), exprs(shape))
                                                  : builder_.input(wire(dtype), exprs(shape));
  for (int f = 0; f < kFeeds; ++f) {
    Shape concrete;
    for (const Length& length : shape) concrete.push_back(length.at[f]);
    feeds_[f].inputs.push_back(ramp(dtype, concrete, seed_ * 100 + feeds_[f].inputs.size() * 10 + f, most));
  }
  add(node, dtype, std::move(shape), bound);
}

bool Generator::step() {
  const Value x = random_.one_in(3) ? values_.back() : random_.pick(values_);
  switch (random_.in(0, palette_ == Palette::kAll ? 22 : 21)) {
    case 0:
    case 1:
    case 2:
      return arithmetic(x);
    case 3:
      return bitwise(x);
    case 4:
      return compare(x);
    case 5:
      return choose(x);
    case 6:
      return unary(x);
    case 7:
      return inexact(x);
    case 8:
      return cast(x);
    case 9:
      return reshape(x);
    case 10:
      return expand(x);
    case 11:
      return permute(x);
    case 12:
      return pad(x);
    case 13:
      return shrink(x);
    case 14:
      return flip(x);
    case 15:
      return unfold(x);
    case 16:
      return cat(x);
    case 17:
    case 18:
      return reduce(x);
    case 19:
      return matmul(x);
    case 20:
      return gather(x);
    case 22:
      return scatter(x);
    default:
      return moved(x, builder_.op(v1::CONTIGUOUS, {x.node}), x.shape);
  }
}

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

RandomGraph random_graph(std::uint64_t seed, Palette palette) { return Generator(seed, palette).generate(); }

}  // namespace hearth::conformance
