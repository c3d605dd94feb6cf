// Which attention becomes which blob, and how the blob is called: buffers, strides, sizes.
#include "compiler/passes/tensor/choose_blobs.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "client/trace/encoded_graph.h"
#include "client/trace/node.h"
#include "compiler/compile.h"
#include "hearth/ops.h"
#include "tests/support/x86_target.h"
#include "tests/unit/blobs/sample_library.h"

namespace hearth {
namespace {

using namespace client;
using Catch::Contains;
using test::fwd_stem;
using test::SampleLibrary;

v1::LoweredPlan lowered(const Tensor& y, const compiler::BlobLibraries& libraries) {
  const absl::StatusOr<client::EncodedGraph> graph = client::encode_graph({{"y", y}});
  INFO(graph.status());
  REQUIRE(graph.ok());
  v1::CompileOptions options;
  options.set_dump(true);
  absl::StatusOr<v1::LoweredPlan> plan = compiler::lower(graph->graph, test::x86_target(256), options, {}, libraries);
  INFO(plan.status());
  REQUIRE(plan.ok());
  return *std::move(plan);
}

Tensor f16(const std::string& name, const Shape& shape) { return input(name, shape, DType::kF16); }

Tensor attention(std::int64_t t, std::int64_t s, std::int64_t d, const AttentionConfig& config = {}) {
  return scaled_dot_product_attention(f16("q", {2, 4, t, d}), f16("k", {2, 2, s, d}), f16("v", {2, 2, s, d}), config);
}

const v1::Launch* launch_of_blob(const v1::LoweredPlan& plan) {
  for (const v1::Launch& launch : plan.plan().launches())
    if (plan.plan().kernels(static_cast<int>(launch.kernel())).has_blob()) return &launch;
  return nullptr;
}

std::string chosen(const v1::LoweredPlan& plan) {
  const v1::Launch* launch = launch_of_blob(plan);
  return launch ? plan.plan().kernels(static_cast<int>(launch->kernel())).blob().spec().stem() : "";
}

std::string note(const v1::LoweredPlan& plan) {
  REQUIRE(plan.notes_size() == 1);
  return plan.notes(0);
}

std::vector<std::int64_t> numbers_of(const v1::LoweredPlan& plan, const v1::Launch& launch) {
  const std::string& data = plan.plan().buffers(static_cast<int>(launch.buffers(4))).data();
  std::vector<std::int64_t> out(data.size() / 8);
  std::memcpy(out.data(), data.data(), data.size());
  return out;
}

const std::string kCausal = "nlogits_nbias_mc_nlse_ndropout_nskip_nsquant";

TEST_CASE("attention is a blob's launch with sizes, strides, mask and scale") {
  const SampleLibrary library({fwd_stem(64, "fp16", "psskddv", kCausal)});
  const v1::LoweredPlan plan =
      lowered(attention(100, 130, 64, {.causal = true, .past = 30, .scale = 0.25}), {library.loaded()});
  CHECK_THAT(note(plan),
             Contains("choose_blobs_test.cpp") && Contains("blob " + fwd_stem(64, "fp16", "psskddv", kCausal)));
  REQUIRE(plan.plan().kernels_size() == 1);
  REQUIRE(plan.plan().launches_size() == 1);
  const v1::Launch& launch = plan.plan().launches(0);
  const v1::PlanKernel& kernel = plan.plan().kernels(0);
  CHECK(kernel.num_ops() == 2 * 2 * 4 * 100 * 130 * (64 + 64));
  CHECK(kernel.blob().library() == library.loaded()->digest);
  CHECK(kernel.blob().spec().root().empty());
  CHECK(kernel.blob().spec().exports(0) == kernel.symbol());
  CHECK_THAT(kernel.blob().spec().glue(), Contains("#define HEARTH_BLOB_SYMBOL " + kernel.symbol() + "\n"));
  CHECK(plan.kernels(0).ast().empty());
  CHECK(plan.kernels(0).blob().spec().stem() == kernel.blob().spec().stem());
  REQUIRE(launch.grid().tokens_size() == 1);
  CHECK(launch.grid().tokens(0).value() == 8);

  REQUIRE(launch.buffers_size() == 5);
  const auto name = [&](int slot) { return plan.plan().buffers(static_cast<int>(launch.buffers(slot))).name(); };
  CHECK(name(0) == "y");
  CHECK(name(1) == "q");
  CHECK(name(2) == "k");
  CHECK(name(3) == "v");
  double scale = 0.25;
  std::int64_t bits = 0;
  std::memcpy(&bits, &scale, 8);
  CHECK(numbers_of(plan, launch) == std::vector<std::int64_t>{2,
                                                              4,
                                                              2,
                                                              100,
                                                              130,
                                                              64,
                                                              64,
                                                              1,
                                                              30,
                                                              bits,
                                                              4 * 100 * 64,
                                                              100 * 64,
                                                              64,
                                                              2 * 130 * 64,
                                                              130 * 64,
                                                              64,
                                                              2 * 130 * 64,
                                                              130 * 64,
                                                              64,
                                                              4 * 100 * 64,
                                                              100 * 64,
                                                              64});
}

TEST_CASE("a transposed operand is read through its strides, a computed one is stored") {
  const SampleLibrary library({fwd_stem(64, "fp16", "psskddv")});
  // [B, T, H * D] as a transformer has it; k is computed.
  const Tensor q = permute(reshape(f16("q", {2, 128, 256}), {2, 128, 4, 64}), {0, 2, 1, 3});
  const Tensor k = f16("k", {2, 4, 128, 64}) * 2.0, v = f16("v", {2, 4, 128, 64});
  const v1::LoweredPlan plan = lowered(scaled_dot_product_attention(q, k, v), {library.loaded()});
  REQUIRE(plan.plan().launches_size() == 2);  // k, then the blob
  const v1::Launch& launch = *launch_of_blob(plan);
  CHECK(&launch == &plan.plan().launches(1));
  CHECK(plan.plan().buffers(static_cast<int>(launch.buffers(1))).name() == "q");
  CHECK(plan.plan().buffers(static_cast<int>(launch.buffers(2))).kind() == v1::PlanBuffer::ARENA);
  CHECK(launch.buffers(2) == plan.plan().launches(0).buffers(0));
  const std::vector<std::int64_t> numbers = numbers_of(plan, launch);
  CHECK(std::vector(numbers.begin() + 10, numbers.begin() + 13) == std::vector<std::int64_t>{128 * 256, 64, 256});
}

TEST_CASE("what comes after a blob is a kernel of its own, and two attentions share one blob") {
  const SampleLibrary library({fwd_stem(64, "fp16", "psskddv")});
  const Tensor first = attention(64, 64, 64);
  const Tensor second = scaled_dot_product_attention(first, f16("k2", {2, 4, 32, 64}), f16("v2", {2, 4, 32, 64}));
  const v1::LoweredPlan plan = lowered(second + first, {library.loaded()});
  CHECK(plan.notes_size() == 2);
  CHECK(plan.plan().kernels_size() == 2);
  CHECK(plan.plan().launches_size() == 3);
}

TEST_CASE("lengths that vary reach the blob by an array that is computed at each replay") {
  const SampleLibrary library({fwd_stem(64, "fp16", "psskddv")});
  const Dim t = Dim::variable("t", 1, 512);
  const Tensor y =
      scaled_dot_product_attention(f16("q", {1, 4, t, 64}), f16("k", {1, 4, t, 64}), f16("v", {1, 4, t, 64}));
  const v1::LoweredPlan plan = lowered(y, {library.loaded()});
  REQUIRE(plan.plan().launches_size() == 2);
  const v1::Launch& launch = *launch_of_blob(plan);
  const v1::PlanBuffer& numbers = plan.plan().buffers(static_cast<int>(launch.buffers(4)));
  CHECK(numbers.kind() == v1::PlanBuffer::ARENA);
  CHECK(numbers.dtype() == v1::I64);
  CHECK(numbers.max_bytes() == 8 * passes::kNumNumbers);
  CHECK(launch.buffers(4) == plan.plan().launches(0).buffers(0));
}

TEST_CASE("the smallest head size wins, then the blob that looks for no edges") {
  const SampleLibrary library({fwd_stem(128, "fp16", "psskddv"), fwd_stem(64, "fp16", "psskddv"),
                               fwd_stem(64, "fp16", "psddv"), fwd_stem(64, "fp16", "npad"),
                               fwd_stem(64, "bf16", "npad")});
  const compiler::BlobLibraries libraries = {library.loaded()};
  CHECK(chosen(lowered(attention(128, 64, 64), libraries)) == fwd_stem(64, "fp16", "npad"));
  CHECK(chosen(lowered(attention(127, 64, 64), libraries)) == fwd_stem(64, "fp16", "psddv"));
  CHECK(chosen(lowered(attention(128, 65, 64), libraries)) == fwd_stem(64, "fp16", "psskddv"));
  CHECK(chosen(lowered(attention(128, 64, 40), libraries)) == fwd_stem(64, "fp16", "psddv"));
  CHECK(chosen(lowered(attention(128, 64, 72), libraries)) == fwd_stem(128, "fp16", "psskddv"));
}

TEST_CASE("attention that no blob computes is our own, and the note says why") {
  const SampleLibrary library({fwd_stem(64, "fp16", "npad")});
  const compiler::BlobLibraries libraries = {library.loaded()};
  struct Row {
    Tensor y;
    std::string why;
  };
  const auto f32 = [](const char* name) { return input(name, {1, 2, 64, 64}, DType::kF32); };
  const Dim t = Dim::variable("t", 1, 512), z = Dim::variable("z", 0, 512);
  const Row rows[] = {
      {scaled_dot_product_attention(f32("q"), f32("k"), f32("v")), "dtype is f32, not fp16 (1)"},
      {attention(64, 64, 64, {.mask = input("m", {64, 64}, DType::kBool)}), "a mask tensor is given"},
      {attention(64, 64, 64, {.causal = true}), "the mask is causal"},
      {attention(100, 64, 64), "seqlen_q is 100, no multiple of 128"},
      {attention(128, 65, 64), "seqlen_k is 65, no multiple of 64"},
      {attention(128, 64, 65), "hdim_q is 65, over 64"},
      {attention(128, 64, 40), "hdim_q is 40, not 64"},
      {scaled_dot_product_attention(f16("q", {1, 2, t, 64}), f16("k", {1, 2, 64, 64}), f16("v", {1, 2, 64, 64})),
       "seqlen_q varies and the blob does not pad it"},
      {scaled_dot_product_attention(f16("q", {1, 2, z, 64}), f16("k", {1, 2, 64, 64}), f16("v", {1, 2, 64, 64})),
       "a length may be zero"},
  };
  for (const Row& row : rows) {
    const v1::LoweredPlan plan = lowered(row.y, libraries);
    CHECK_THAT(note(plan), Contains("our own kernels: ") && Contains(row.why));
    CHECK(launch_of_blob(plan) == nullptr);
  }
  CHECK_THAT(note(lowered(attention(128, 64, 64), {})), Contains("no blob library is configured"));
  const SampleLibrary hip({fwd_stem(64, "fp16", "npad")}, "hip");
  CHECK_THAT(note(lowered(attention(128, 64, 64), {hip.loaded()})), Contains("no library has blobs for this target"));
  const SampleLibrary group({fwd_stem(64, "fp16", "npad", "nlogits_nbias_nmask_nlse_ndropout_nskip_nsquant", "group")});
  CHECK_THAT(note(lowered(attention(128, 64, 64), {group.loaded()})), Contains("its mode is 'group'"));
}

TEST_CASE("a traced attention that contradicts itself is refused by node") {
  const absl::StatusOr<client::EncodedGraph> traced = client::encode_graph({{"y", attention(64, 32, 16)}});
  REQUIRE(traced.ok());
  int index = -1;
  for (int i = 0; i < traced->graph.nodes_size(); ++i)
    if (traced->graph.nodes(i).op() == v1::ATTENTION) index = i;
  REQUIRE(index >= 0);
  struct Row {
    void (*change)(v1::Node&);
    const char* why;
  };
  const Row rows[] = {
      {[](v1::Node& n) { n.mutable_inputs()->RemoveLast(); }, "3 inputs instead of 4 or 5"},
      {[](v1::Node& n) { n.set_inputs(1, n.inputs(0)); },
       "are not floats of shapes"},  // q's heads as keys: v has others
      {[](v1::Node& n) { n.set_inputs(3, n.inputs(1)); }, "are not floats of shapes"},
      {[](v1::Node& n) { n.set_axes(0, 2); }, "whether it is causal"},
      {[](v1::Node& n) { n.set_axes(1, -1); }, "number of earlier keys"},
      {[](v1::Node& n) { n.add_axes(0); }, "axes are not"},
      {[](v1::Node& n) { n.mutable_data()->pop_back(); }, "the scale, 8 bytes"},
  };
  for (const Row& row : rows) {
    v1::Graph graph = traced->graph;
    row.change(*graph.mutable_nodes(index));
    const auto plan = compiler::lower(graph, test::x86_target(256), {});
    INFO(row.why);
    CHECK(absl::IsInvalidArgument(plan.status()));
    CHECK_THAT(std::string(plan.status().message()), Contains("(ATTENTION)") && Contains(row.why));
  }
}

TEST_CASE("without a library attention compiles to what it was composed of") {
  const Tensor y = attention(64, 64, 64);
  const v1::LoweredPlan plan = lowered(y, {}), composed = lowered(y.node()->inputs[3], {});
  CHECK(plan.plan().SerializeAsString() == composed.plan().SerializeAsString());
}

}  // namespace
}  // namespace hearth
