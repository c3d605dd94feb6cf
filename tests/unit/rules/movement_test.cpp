// Movement rules on small tensors: the element at every position, followed through the operations, stays the same.
#include <catch2/catch.hpp>

#include <random>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"

using namespace hearth;
using ir::Op;
using ir::UOpRef;

namespace {

using Position = std::vector<std::int64_t>;
const ir::DType kF32(ir::Scalar::F32);
constexpr std::int64_t kFill = -1;

std::vector<std::int64_t> shape_of(ir::ShapeCache& shapes, UOpRef node) {
  std::vector<std::int64_t> dims;
  for (UOpRef dim : shapes.of(node)) dims.push_back(dim->int_value());
  return dims;
}

// The flat position in the buffer that `position` of `node` shows; kFill for padding.
std::int64_t follow(ir::ShapeCache& shapes, UOpRef node, Position position) {
  while (!node->is(Op::Buffer)) {
    const std::vector<std::int64_t> from = shape_of(shapes, node->source(0)), to = shape_of(shapes, node);
    Position next = position;
    auto value = [&](std::size_t s) { return node->source(s)->int_value(); };
    const std::size_t rank = from.size();
    switch (node->op) {
      case Op::Reshape: {
        std::int64_t flat = 0;
        for (std::size_t axis = 0; axis < to.size(); ++axis) flat = flat * to[axis] + position[axis];
        next.assign(rank, 0);
        for (std::size_t axis = rank; axis-- > 0; flat /= from[axis]) next[axis] = flat % from[axis];
        break;
      }
      case Op::Permute:
        next.assign(rank, 0);
        for (std::size_t axis = 0; axis < rank; ++axis) next[node->as<ir::Axes>().axes[axis]] = position[axis];
        break;
      case Op::Expand:
        for (std::size_t axis = 0; axis < rank; ++axis) {
          if (from[axis] == 1) next[axis] = 0;
        }
        break;
      case Op::Flip:
        for (std::int64_t axis : node->as<ir::Axes>().axes) next[axis] = from[axis] - 1 - position[axis];
        break;
      case Op::Shrink:
        for (std::size_t axis = 0; axis < rank; ++axis) next[axis] += value(1 + axis);
        break;
      case Op::Pad:
        for (std::size_t axis = 0; axis < rank; ++axis) {
          next[axis] -= value(2 + axis);
          if (next[axis] < 0 || next[axis] >= from[axis]) return kFill;
        }
        break;
      default:
        break;  // contiguous
    }
    position = next;
    node = node->source(0);
  }
  std::int64_t flat = 0;
  const std::vector<std::int64_t> dims = shape_of(shapes, node);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) flat = flat * dims[axis] + position[axis];
  return flat;
}

UOpRef random_movement(ir::Graph& g, ir::ShapeCache& shapes, UOpRef x, std::mt19937& random) {
  const std::vector<std::int64_t> shape = shape_of(shapes, x);
  const std::size_t rank = shape.size();
  std::vector<UOpRef> sources = {x};
  std::vector<std::int64_t> axes;
  switch (random() % 7) {
    case 0: {  // two axes joined, or one split off
      std::vector<std::int64_t> dims = shape;
      if (rank > 1 && random() % 2) {
        dims[0] *= dims[1];
        dims.erase(dims.begin() + 1);
      } else if (rank < 4) {
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(random() % (rank + 1)), 1);
      }
      for (std::int64_t dim : dims) sources.push_back(g.index(dim));
      return g.make(Op::Reshape, kF32, sources);
    }
    case 1:
      for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
      if (random() % 4) std::shuffle(axes.begin(), axes.end(), random);
      return g.make(Op::Permute, kF32, {x}, ir::Axes{axes});
    case 2:
      for (std::int64_t dim : shape) sources.push_back(g.index(dim == 1 && random() % 2 ? 3 : dim));
      return g.make(Op::Expand, kF32, sources);
    case 3:
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if (random() % 2) axes.push_back(static_cast<std::int64_t>(axis));
      }
      return g.make(Op::Flip, kF32, {x}, ir::Axes{axes});
    case 4: {
      std::vector<std::int64_t> ends;
      for (std::int64_t dim : shape) {
        const std::int64_t begin = dim > 1 && random() % 3 == 0 ? 1 : 0;
        sources.push_back(g.index(begin));
        ends.push_back(dim > begin + 1 && random() % 3 == 0 ? dim - 1 : dim);
      }
      for (std::int64_t end : ends) sources.push_back(g.index(end));
      return g.make(Op::Shrink, kF32, sources);
    }
    case 5:
      sources.push_back(g.constant(kF32, 0.0));
      for (std::size_t s = 0; s < 2 * rank; ++s) sources.push_back(g.index(random() % 4 == 0 ? 1 : 0));
      return g.make(Op::Pad, kF32, sources);
    default:
      return g.make(Op::Contiguous, kF32, {x});
  }
}

}  // namespace

TEST_CASE("movement rules keep every element of random chains") {
  std::mt19937 random(11);
  std::vector<std::uint64_t> fired;
  int shorter = 0;
  for (int i = 0; i < 1500; ++i) {
    ir::Graph g;
    ir::ShapeCache shapes(g);
    UOpRef x = g.make(Op::Buffer, kF32, {g.index(2), g.index(3), g.index(1)}, ir::BufferInfo{});
    const int length = 1 + static_cast<int>(random() % 6);
    for (int step = 0; step < length; ++step) x = random_movement(g, shapes, x, random);
    const UOpRef y = rewrite::rewrite(g, x, rules::tensor_rules(), {.fire_counts = &fired}).value();
    INFO(ir::print(x) << "became\n" << ir::print(y));
    REQUIRE(rules::simplify_tensor(g, y).value() == y);
    const std::vector<std::int64_t> shape = shape_of(shapes, x);
    REQUIRE(shape_of(shapes, y) == shape);
    shorter += ir::toposort(y).size() < ir::toposort(x).size();
    std::int64_t count = 1;
    for (std::int64_t dim : shape) count *= dim;
    for (std::int64_t flat = 0; flat < count; ++flat) {
      Position position(shape.size());
      for (std::size_t axis = shape.size(), rest = flat; axis-- > 0; rest /= shape[axis]) {
        position[axis] = static_cast<std::int64_t>(rest) % shape[axis];
      }
      REQUIRE(follow(shapes, x, position) == follow(shapes, y, position));
    }
  }
  CHECK(shorter > 500);
  const auto& all = rules::tensor_rules().rules();
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].name);
    const bool is_made = std::ranges::any_of(rules::movement_rules(), [&](const rewrite::Rule& rule) {
      return rule.name == all[i].name && rule.name != "cast_same" && rule.name != "cat_of_one" &&
             rule.name != "contiguous_twice";
    });
    CHECK((!is_made || fired[i] > 0));
  }
}
