// Products by matrix units of GPUs: what the layouts say is what they compute.
#include "compiler/passes/kernel/matrix_tiles.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "compiler/ir/matrix_layout.h"
#include "compiler/schedule/opts_proto.h"
#include "compiler/target/target.h"
#include "tests/unit/schedule/product.h"

namespace hearth {
namespace {

// Vulkan's, as drivers report them: lavapipe's, Intel's, NVIDIA's and AMD's.
constexpr std::array<std::uint8_t, 4> kCooperative[] = {
    {8, 8, 8, 8}, {8, 16, 16, 32}, {16, 16, 16, 32}, {16, 16, 16, 64}};

v1::Target cooperative_target(const std::array<std::uint8_t, 4>& sizes) {
  v1::Target target;
  target.set_device("vulkan");
  v1::GpuLimits& gpu = *target.mutable_gpu();
  gpu.mutable_cooperative_matrix()->set_m(sizes[0]);
  gpu.mutable_cooperative_matrix()->set_n(sizes[1]);
  gpu.mutable_cooperative_matrix()->set_k(sizes[2]);
  *gpu.mutable_cooperative_byte_matrix() = gpu.cooperative_matrix();
  gpu.set_subgroup_size(sizes[3]);
  return target;
}

v1::Target target_with(ir::MatrixLayout layout) {
  const auto of = [](const char* device, const char* arch, std::uint32_t subgroup) {
    v1::Target target;
    target.set_device(device);
    target.set_arch(arch);
    target.mutable_gpu()->set_subgroup_size(subgroup);
    return target;
  };
  if (layout == ir::MatrixLayout::MmaSync16 || layout == ir::MatrixLayout::MmaSync8) return of("cuda", "sm_80", 32);
  if (layout == ir::MatrixLayout::Mfma16) return of("hip", "gfx90a", 64);
  if (layout == ir::MatrixLayout::Mfma8) return of("hip", "gfx942", 64);
  return of("hip", layout == ir::MatrixLayout::WmmaGfx11 ? "gfx1100" : "gfx1201", 32);
}

// `subgroups` by rows and columns, each of as many matrices.
struct Block {
  std::int64_t subgroup_rows = 1, subgroup_columns = 1, rows = 1, columns = 1, depth = 1;
};

std::vector<Opt> opts_of(const Block& block, const ir::MatrixShape& unit) {
  std::vector<Opt> opts;
  const auto add = [&](std::uint32_t axis, std::int64_t unit_size, std::int64_t matrices, std::int64_t subgroups) {
    const std::int64_t size = unit_size * matrices * subgroups;
    opts.push_back({Opt::Kind::PadTo, axis, size});
    opts.push_back({Opt::Kind::Tile, axis, size});
    opts.push_back({Opt::Kind::Unroll, axis, unit_size});
    if (matrices > 1) opts.push_back({Opt::Kind::Unroll, axis, matrices});
    if (subgroups > 1) opts.push_back({Opt::Kind::Workgroup, axis, subgroups});
  };
  add(0, unit.m, block.rows, block.subgroup_rows);
  add(1, unit.n, block.columns, block.subgroup_columns);
  opts.push_back({Opt::Kind::Matrix, 2, unit.k * block.depth});
  return opts;
}

}  // namespace

TEST_CASE("the invocations of a subgroup have each element of a unit's matrices, and each of its results once") {
  std::vector<ir::MatrixShape> shapes;
  for (const ir::MatrixLayout layout : ir::kMatrixLayouts) shapes.push_back(ir::shape_of(layout));
  for (const auto& [m, n, k, subgroup] : kCooperative) shapes.push_back(ir::cooperative_shape(m, n, k, subgroup));
  for (const ir::MatrixShape& shape : shapes) {
    INFO(std::string(shape.name));
    const auto places = [&](const ir::Fragment& fragment, int rows, int columns) {
      std::multiset<std::pair<int, int>> all;
      for (std::uint32_t i = 0; i < shape.subgroup; ++i) {
        for (std::uint32_t e = 0; e < fragment.elements; ++e) {
          const ir::MatrixStep place = fragment.at(i, e);
          REQUIRE(place.row < rows);
          REQUIRE(place.column < columns);
          all.emplace(place.row, place.column);
        }
      }
      return all;
    };
    const auto a = places(shape.a, shape.m, shape.k), b = places(shape.b, shape.k, shape.n);
    const auto sum = places(shape.sum, shape.m, shape.n);
    CHECK(std::set(a.begin(), a.end()).size() == std::size_t{shape.m} * shape.k);
    CHECK(std::set(b.begin(), b.end()).size() == std::size_t{shape.k} * shape.n);
    CHECK(std::set(sum.begin(), sum.end()).size() == std::size_t{shape.m} * shape.n);
    CHECK(sum.size() == std::size_t{shape.m} * shape.n);
  }
}

// Of the documents' figures, a few that a mistake in any bit would change.
TEST_CASE("elements are where the documents of the instruction sets have them") {
  const auto at = [](ir::MatrixLayout layout, ir::MatrixOperand operand, std::uint32_t invocation,
                     std::uint32_t element) {
    const ir::MatrixStep place = ir::shape_of(layout).fragment(operand).at(invocation, element);
    return std::pair(int{place.row}, int{place.column});
  };
  using enum ir::MatrixOperand;
  // PTX ISA, mma.m16n8k16: groupID = lane / 4, thread in group = lane % 4.
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const int group = static_cast<int>(lane / 4), thread = static_cast<int>(lane % 4);
    for (std::uint32_t i = 0; i < 8; ++i) {
      const bool is_upper = i < 2 || (i >= 4 && i < 6);
      CHECK(at(ir::MatrixLayout::MmaSync16, A, lane, i) ==
            std::pair(group + (is_upper ? 0 : 8), thread * 2 + static_cast<int>(i & 1) + (i < 4 ? 0 : 8)));
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      CHECK(at(ir::MatrixLayout::MmaSync16, B, lane, i) ==
            std::pair(thread * 2 + static_cast<int>(i & 1) + (i < 2 ? 0 : 8), group));
      CHECK(at(ir::MatrixLayout::MmaSync16, Sum, lane, i) ==
            std::pair(group + (i < 2 ? 0 : 8), thread * 2 + static_cast<int>(i & 1)));
    }
  }
  // mma.m16n8k32 of bytes.
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const int group = static_cast<int>(lane / 4), thread = static_cast<int>(lane % 4);
    for (std::uint32_t i = 0; i < 16; ++i) {
      const bool is_upper = i < 4 || (i >= 8 && i < 12);
      CHECK(at(ir::MatrixLayout::MmaSync8, A, lane, i) ==
            std::pair(group + (is_upper ? 0 : 8), thread * 4 + static_cast<int>(i & 3) + (i < 8 ? 0 : 16)));
    }
    for (std::uint32_t i = 0; i < 8; ++i)
      CHECK(at(ir::MatrixLayout::MmaSync8, B, lane, i) ==
            std::pair(thread * 4 + static_cast<int>(i & 3) + (i < 4 ? 0 : 16), group));
    for (std::uint32_t i = 0; i < 4; ++i)
      CHECK(at(ir::MatrixLayout::MmaSync8, Sum, lane, i) == at(ir::MatrixLayout::MmaSync16, Sum, lane, i));
  }
  // V_MFMA_I32_16X16X32_I8: A[i][k] in lane i + 16 * (k / 8), element k % 8; D as f16's.
  for (std::uint32_t i = 0; i < 16; ++i) {
    for (std::uint32_t k = 0; k < 32; ++k) {
      const std::pair<int, int> place(i, k), across(k, i);
      CHECK(at(ir::MatrixLayout::Mfma8, A, i + 16 * (k / 8), k % 8) == place);
      CHECK(at(ir::MatrixLayout::Mfma8, B, i + 16 * (k / 8), k % 8) == across);
    }
    for (std::uint32_t lane = 0; lane < 64; ++lane)
      CHECK(at(ir::MatrixLayout::Mfma8, Sum, lane, i % 4) == at(ir::MatrixLayout::Mfma16, Sum, lane, i % 4));
  }
  // AMD: A[i][k] of V_MFMA_F32_16X16X16_F16 in lane i + 16 * (k / 4), element k % 4; D[i][j] in lane j + 16 * (i / 4),
  // element i % 4. D of RDNA3's V_WMMA in lane j + 16 * (i % 2), element i / 2; of RDNA4's in j + 16 * (i / 8), i % 8.
  for (std::uint32_t i = 0; i < 16; ++i) {
    for (std::uint32_t j = 0; j < 16; ++j) {
      const std::pair<int, int> place(i, j), across(j, i);
      CHECK(at(ir::MatrixLayout::Mfma16, A, i + 16 * (j / 4), j % 4) == place);
      CHECK(at(ir::MatrixLayout::Mfma16, B, i + 16 * (j / 4), j % 4) == across);
      CHECK(at(ir::MatrixLayout::Mfma16, Sum, j + 16 * (i / 4), i % 4) == place);
      CHECK(at(ir::MatrixLayout::WmmaGfx11, A, i, j) == place);
      CHECK(at(ir::MatrixLayout::WmmaGfx11, A, i + 16, j) == place);
      CHECK(at(ir::MatrixLayout::WmmaGfx11, B, i + 16, j) == across);
      CHECK(at(ir::MatrixLayout::WmmaGfx11, Sum, j + 16 * (i % 2), i / 2) == place);
      CHECK(at(ir::MatrixLayout::WmmaGfx12, A, i + 16 * (j / 8), j % 8) == place);
      CHECK(at(ir::MatrixLayout::WmmaGfx12, B, i + 16 * (j / 8), j % 8) == across);
      CHECK(at(ir::MatrixLayout::WmmaGfx12, Sum, j + 16 * (i / 8), i % 8) == place);
    }
  }
}

TEST_CASE("a product by a matrix unit is the product, whatever the unit, its operands and its block") {
  std::mt19937 random(5);
  const Block blocks[] = {{1, 1, 1, 1, 1}, {1, 2, 2, 1, 2}, {2, 1, 1, 2, 1}};
  const Product products[] = {{16, 16, 16, false, false}, {21, 19, 35, true, false}, {3, 40, 17, false, true}};
  using enum ir::Scalar;
  const std::pair<ir::Scalar, ir::Scalar> types[] = {{F16, F16}, {BF16, BF16}, {I8, I8}, {U8, I8}, {I8, U8}, {U8, U8}};
  for (const ir::MatrixLayout layout : ir::kMatrixLayouts) {
    const v1::Target target = target_with(layout);
    std::size_t i = 0;
    for (const auto& [a, b] : types) {
      const Block& block = blocks[i++ % std::size(blocks)];
      Product p = products[i % std::size(products)];
      p.a = a, p.b = b;
      const ir::WmmaInfo unit = target::Target(target).matrix_unit(a, b);
      const bool has_unit = unit.layout != ir::MatrixLayout::Whole;
      CHECK(
          (has_unit || layout == ir::MatrixLayout::Mfma16 || layout == ir::MatrixLayout::Mfma8));  // no unsigned bytes
      if (!has_unit) continue;
      const std::vector<Opt> opts = opts_of(block, ir::shape_of(unit));
      INFO(std::string(ir::shape_of(unit).name)
           << " of " << to_string(a) << " and " << to_string(b) << ": " << to_string(opts));
      const auto buffers = buffers_of(p, random);
      bool by_unit = false;
      CHECK(run_with(p, opts, buffers, &by_unit, target).bytes == run_with(p, {}, buffers).bytes);
      CHECK(by_unit);
    }
  }
}

TEST_CASE("a product by cooperative matrices, which are loaded and stored whole, is the product") {
  std::mt19937 random(5);
  const Block blocks[] = {{1, 1, 1, 1, 1}, {1, 2, 2, 1, 2}, {2, 1, 1, 2, 1}};
  const Product products[] = {{16, 16, 16, false, false}, {21, 19, 35, true, false}, {3, 40, 17, false, true}};
  for (const auto& sizes : kCooperative) {
    const v1::Target target = cooperative_target(sizes);
    for (const ir::Scalar dtype : {ir::Scalar::F16, ir::Scalar::I8}) {
      const ir::MatrixShape unit = ir::shape_of(target::Target(target).matrix_unit(dtype, dtype));
      for (std::size_t i = 0; i < std::size(blocks); ++i) {
        Product p = products[i];
        p.a = p.b = dtype;
        const std::vector<Opt> opts = opts_of(blocks[i], unit);
        INFO(int{unit.m} << " x " << int{unit.n} << " x " << int{unit.k} << " of " << to_string(dtype) << ": "
                         << to_string(opts));
        const auto buffers = buffers_of(p, random);
        bool by_unit = false;
        CHECK(run_with(p, opts, buffers, &by_unit, target).bytes == run_with(p, {}, buffers).bytes);
        CHECK(by_unit);
      }
    }
  }
  Product bf16{16, 16, 16, false, false, ir::Scalar::BF16, ir::Scalar::BF16};
  const v1::Target target = cooperative_target(kCooperative[2]);
  const auto buffers = buffers_of(bf16, random);
  bool by_unit = true;
  const std::vector<Opt> opts =
      opts_of({}, ir::shape_of(target::Target(target).matrix_unit(ir::Scalar::F16, ir::Scalar::F16)));
  CHECK(run_with(bf16, opts, buffers, &by_unit, target).bytes == run_with(bf16, {}, buffers).bytes);
  CHECK_FALSE(by_unit);
}

TEST_CASE("a target without a matrix unit, or with subgroups of another size, computes the product without one") {
  std::mt19937 random(5);
  const Product p{16, 16, 16, false, false, ir::Scalar::F16, ir::Scalar::F16};
  const auto buffers = buffers_of(p, random);
  v1::Target target = target_with(ir::MatrixLayout::MmaSync16);
  const std::vector<Opt> opts = opts_of({}, ir::shape_of(ir::MatrixLayout::MmaSync16));
  bool by_unit = true;
  target.set_arch("sm_70");
  CHECK(run_with(p, opts, buffers, &by_unit, target).bytes == run_with(p, {}, buffers).bytes);
  CHECK_FALSE(by_unit);
  target.set_arch("sm_80");
  target.mutable_gpu()->set_subgroup_size(64);
  CHECK(run_with(p, opts, buffers, &by_unit, target).bytes == run_with(p, {}, buffers).bytes);
  CHECK_FALSE(by_unit);
}

}  // namespace hearth
