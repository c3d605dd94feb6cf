// SPIR-V of kernels written as text: what a module has, what a target lacks, what no body may be.
#include <catch2/catch.hpp>

#include "compiler/codegen/spirv/check_module.h"
#include "compiler/codegen/spirv/codegen.h"
#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "runtime/devices/named_target.h"

namespace hearth::codegen::spirv {
namespace {

using Catch::Matchers::Contains;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

target::Target known_target(const std::string& name) { return *runtime::named_target(name); }

// out[i] = op(in[i]) over a grid.
struct Elementwise {
  ir::Graph g;
  passes::LinearKernel kernel;

  Elementwise(Op op, Scalar dtype, Scalar result) {
    UOpRef in = g.make(Op::Param, dtype, {}, ir::ParamInfo{0});
    UOpRef out = g.make(Op::Param, result, {}, ir::ParamInfo{1});
    UOpRef size = g.constant(Scalar::I64, std::int64_t{100});
    UOpRef i = g.make(Op::Range, Scalar::I64, {size}, ir::RangeInfo{0, ir::RangeKind::Grid});
    UOpRef from = g.make(Op::Index, Scalar::Void, {in, i, g.boolean(true)});
    UOpRef x = g.make(Op::Load, dtype, {from});
    UOpRef y = op == Op::Cast ? g.make(op, result, {x}) : g.make(op, result, {x, x});
    UOpRef to = g.make(Op::Index, Scalar::Void, {out, i, g.boolean(true)});
    UOpRef store = g.make(Op::Store, Scalar::Void, {to, y});
    UOpRef end = g.make(Op::End, Scalar::Void, {i});
    kernel.symbol = "k";
    kernel.body = {in, out, size, i, from, x, y, to, store, end};
    kernel.num_buffers = 2;
  }
};

TEST_CASE("a kernel is one compute shader that reads its launch's row and strides over the units") {
  Elementwise k(Op::Add, Scalar::F32, Scalar::F32);
  const absl::StatusOr<std::string> text = emit_text(k.kernel, known_target("vulkan:lavapipe"));
  REQUIRE(text.ok());
  CHECK_THAT(*text, Contains("OpEntryPoint GLCompute") && Contains("LocalSize 64 1 1"));
  CHECK_THAT(*text, Contains("SignedZeroInfNanPreserve 32") && Contains("RoundingModeRTE 32"));
  CHECK_THAT(*text, Contains("OpTypePointer PushConstant %ulong") && Contains("NumWorkgroups"));
  CHECK_THAT(*text, Contains("OpFAdd %float") && Contains("OpLoopMerge"));
  CHECK(compile(k.kernel, known_target("vulkan:lavapipe")).ok());
}

TEST_CASE("the same kernel gives the same words, and a float's module needs no feature that a minimal device lacks") {
  Elementwise a(Op::Add, Scalar::F32, Scalar::F32), b(Op::Add, Scalar::F32, Scalar::F32);
  const absl::StatusOr<std::string> one = compile(a.kernel, known_target("vulkan:minimal"));
  REQUIRE(one.ok());
  CHECK(*one == *compile(b.kernel, known_target("vulkan:minimal")));
  CHECK_THAT(*emit_text(a.kernel, known_target("vulkan:minimal")),
             !Contains("Float64") && !Contains("Int8") && !Contains("Int16") && !Contains("8Bit"));
}

TEST_CASE("NVIDIA's driver gives a matrix times its own transpose: no remainder is left to a driver") {
  for (const Op op : {Op::FloorDiv, Op::FloorMod, Op::TruncDiv, Op::TruncMod}) {
    for (const Scalar dtype : {Scalar::U64, Scalar::I64, Scalar::U32, Scalar::I32}) {
      Elementwise k(op, dtype, dtype);
      const absl::StatusOr<std::string> text = emit_text(k.kernel, known_target("vulkan:lavapipe"));
      REQUIRE(text.ok());
      CHECK_THAT(*text, Contains("Div %u") && !Contains("UMod") && !Contains("SMod") && !Contains("SRem"));
    }
  }
}

// 2^n's n is (x * c + magic) - magic, which is another number where a driver makes x * c of it.
TEST_CASE("every exponential is a power of two on drivers that rearrange sums: only sums of products may be fused") {
  Elementwise k(Op::Add, Scalar::F32, Scalar::F32);
  UOpRef x = k.kernel.body[5];
  const auto number = [&](double value) { return k.g.constant(Scalar::F32, value); };
  const auto binary = [&](Op op, UOpRef a, UOpRef b) { return k.g.make(op, Scalar::F32, {a, b}); };
  UOpRef c = number(1.44), magic = number(12582912.0);
  UOpRef scaled = binary(Op::Mul, x, c), rounded = binary(Op::Add, scaled, magic);
  UOpRef n = binary(Op::Sub, rounded, magic), product = binary(Op::Mul, n, x), sum = binary(Op::Add, product, x);
  k.kernel.body.erase(k.kernel.body.begin() + 6, k.kernel.body.end() - 1);
  UOpRef to = k.g.make(Op::Index, Scalar::Void, {k.kernel.body[1], k.kernel.body[3], k.g.boolean(true)});
  const std::initializer_list<UOpRef> rest = {
      c, magic, scaled, rounded, n, product, sum, to, k.g.make(Op::Store, Scalar::Void, {to, sum})};
  k.kernel.body.insert(k.kernel.body.end() - 1, rest);
  const absl::StatusOr<std::string> text = emit_text(k.kernel, known_target("vulkan:lavapipe"));
  INFO(text.status().message());
  REQUIRE(text.ok());
  const auto result_of = [&](const std::string& instruction, int which) {
    std::size_t at = 0;
    for (int i = 0; i <= which; ++i) at = text->find(instruction, at + 1);
    const std::size_t line = text->rfind('\n', at) + 1, name = text->find('%', line);
    return text->substr(name, text->find(' ', name) - name);
  };
  const auto is_exact = [&](const std::string& result) {
    return text->find("OpDecorate " + result + " NoContraction") != std::string::npos;
  };
  CHECK(is_exact(result_of("OpFMul %float", 0)));
  CHECK(is_exact(result_of("OpFAdd %float", 0)));
  CHECK(is_exact(result_of("OpFSub %float", 0)));
  CHECK_FALSE(is_exact(result_of("OpFMul %float", 1)));
  CHECK_FALSE(is_exact(result_of("OpFAdd %float", 1)));
}

TEST_CASE("an index is divided in 32 bits where it fits, a tensor's 64-bit values are not") {
  Elementwise k(Op::FloorMod, Scalar::I64, Scalar::I64);
  CHECK_THAT(*emit_text(k.kernel, known_target("vulkan:lavapipe")), Contains("OpSDiv %ulong"));
  ir::UOpRef& position = k.kernel.body[7];
  UOpRef third = k.g.make(Op::FloorMod, Scalar::I64, {k.kernel.body[3], k.g.constant(Scalar::I64, std::int64_t{3})});
  position = k.g.make(Op::Index, Scalar::Void, {k.kernel.body[1], third, k.g.boolean(true)});
  k.kernel.body[8] = k.g.make(Op::Store, Scalar::Void, {position, k.kernel.body[6]});
  k.kernel.body.insert(k.kernel.body.begin() + 4, {third->source(1), third});
  CHECK_THAT(*emit_text(k.kernel, known_target("vulkan:lavapipe")), Contains("OpUDiv %uint"));
}

TEST_CASE("what a device lacks is refused by op, type and feature") {
  const struct {
    Op op;
    Scalar dtype, result;
    const char* feature;
  } cases[] = {{Op::Add, Scalar::F64, Scalar::F64, "shaderFloat64"},
               {Op::Add, Scalar::I8, Scalar::I8, "storageBuffer8BitAccess"},
               {Op::Add, Scalar::F16, Scalar::F16, "storageBuffer16BitAccess"},
               {Op::Add, Scalar::I64, Scalar::I64, "shaderInt64"},
               {Op::Cast, Scalar::F32, Scalar::Bool, "storageBuffer8BitAccess"}};
  for (const auto& c : cases) {
    Elementwise k(c.op, c.dtype, c.result);
    const absl::Status refused = compile(k.kernel, known_target("vulkan:minimal")).status();
    INFO(refused.message());
    CHECK(absl::IsUnimplemented(refused));
    CHECK_THAT(std::string(refused.message()), Contains("kernel k: ") && Contains(std::string(" needs ") + c.feature) &&
                                                   Contains("which vulkan:minimal lacks"));
    CHECK(compile(k.kernel, known_target("vulkan:lavapipe")).ok());
  }
}

TEST_CASE("a body that no pass makes is a bug that names its node") {
  const auto refused = [](const passes::LinearKernel& kernel) {
    const absl::Status status = compile(kernel, known_target("vulkan:lavapipe")).status();
    CHECK(absl::IsInternal(status));
    return std::string(status.message());
  };
  Elementwise k(Op::Add, Scalar::F32, Scalar::F32);
  passes::LinearKernel open = k.kernel;
  open.body.pop_back();
  CHECK_THAT(refused(open), Contains("this range has no end"));
  passes::LinearKernel early = k.kernel;
  std::swap(early.body[5], early.body[6]);  // the sum before what it adds
  CHECK_THAT(refused(early), Contains("used before it is defined"));
  passes::LinearKernel few = k.kernel;
  few.num_buffers = 1;
  CHECK_THAT(refused(few), Contains("the kernel has 1 buffers"));
  passes::LinearKernel outside = k.kernel;
  UOpRef zero = k.g.constant(Scalar::I64, std::int64_t{0}), value = k.g.constant(Scalar::F32, 0.0);
  UOpRef first = k.g.make(Op::Index, Scalar::Void, {k.kernel.body[1], zero, k.g.boolean(true)});
  UOpRef store = k.g.make(Op::Store, Scalar::Void, {first, value});
  outside.body.insert(outside.body.begin() + 3, {zero, value, first, store});  // in front of the grid
  CHECK_THAT(refused(outside), Contains("a store outside of the grid"));
}

TEST_CASE("a module that the validator refuses is a bug that names the kernel") {
  Elementwise k(Op::Add, Scalar::F32, Scalar::F32);
  const std::string good = *compile(k.kernel, known_target("vulkan:lavapipe"));
  std::vector<std::uint32_t> words(good.size() / 4);
  std::copy(good.begin(), good.end(), reinterpret_cast<char*>(words.data()));
  CHECK(check_module(words, "k").ok());
  words.resize(words.size() - 1);  // the function's end
  const absl::Status refused = check_module(words, "k");
  CHECK(absl::IsInternal(refused));
  CHECK_THAT(std::string(refused.message()), Contains("kernel k: spirv-val refuses its module: "));
}

}  // namespace
}  // namespace hearth::codegen::spirv
