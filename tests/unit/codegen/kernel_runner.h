// Builds small linear kernels by hand, compiles them for this machine and calls them.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/kernel_abi.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/ir/graph.h"

namespace hearth::codegen {

// x86-64 with AVX2, FMA and F16C, or AVX-512 where this machine runs it; AArch64 on an AArch64 machine.
v1::Target host_target();
// The same with its longest vectors: 512 bits with AVX-512.
v1::Target widest_target();
// The oldest x86-64: no FMA, no rounding instructions, no F16C. On AArch64 the same as host_target().
v1::Target baseline_target();
v1::Target aarch64_target();
// Fixed records of x86-64 with vectors of 256 bits, for any host to generate code for.
v1::Target avx2_target();
v1::Target avx512_target();
bool host_has_avx2();
v1::CompileOptions default_options();

// A linear body under construction: every helper appends what it makes, in order.
class Body {
 public:
  explicit Body(ir::Graph& graph) : g(graph) {}
  ir::Graph& g;

  ir::UOpRef put(ir::UOpRef node);  // appends node and whatever below it is not in the body yet
  ir::UOpRef param(std::uint32_t slot, ir::DType dtype);
  ir::UOpRef var(std::uint32_t slot, std::int64_t min, std::int64_t max);
  ir::UOpRef i64(std::int64_t value) { return g.constant(ir::Scalar::I64, value); }
  ir::UOpRef open(ir::UOpRef size, ir::RangeKind kind = ir::RangeKind::Loop);
  ir::UOpRef close(ir::UOpRef range);
  ir::UOpRef load(ir::UOpRef param, ir::UOpRef position, ir::DType dtype, ir::UOpRef gate = nullptr,
                  ir::UOpRef otherwise = nullptr);
  ir::UOpRef store(ir::UOpRef param, ir::UOpRef position, ir::UOpRef value, ir::UOpRef gate = nullptr);
  ir::UOpRef acc(ir::UOpRef initial);
  ir::UOpRef update(ir::UOpRef acc, ir::UOpRef value, ir::ReduceKind kind);
  ir::UOpRef result(ir::UOpRef acc, ir::UOpRef end);

  passes::LinearKernel kernel(std::string symbol = "kernel") const;

 private:
  std::vector<ir::UOpRef> body_;
  int num_buffers_ = 0, num_vars_ = 0;
};

// A compiled kernel, loaded into this process. Fails the test when compiling or loading fails.
class Loaded {
 public:
  Loaded(const passes::LinearKernel& kernel, const v1::Target& target,
         const v1::CompileOptions& options = default_options());
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  void operator()(std::vector<void*> buffers, std::vector<std::int64_t> vars = {}, std::int64_t begin = 0,
                  std::int64_t end = 1) const;

 private:
  void* library_ = nullptr;
  hearth_kernel_fn function_ = nullptr;
};

// out[i] = f(a[i], b[i], ...) over `count` elements, by `lanes` at a time.
template <class Function>
passes::LinearKernel elementwise_kernel(ir::Graph& graph, std::int64_t count, std::vector<ir::DType> inputs,
                                        ir::DType output, std::uint16_t lanes, Function f) {
  Body body(graph);
  std::vector<ir::UOpRef> params;
  ir::UOpRef out = body.param(0, output);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) params.push_back(body.param(i + 1, inputs[i]));
  ir::UOpRef range = body.open(body.i64(count / lanes));
  ir::UOpRef position = lanes == 1 ? range : body.put(graph.mul(range, body.i64(lanes)));
  std::vector<ir::UOpRef> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(body.load(params[i], position, inputs[i].with_lanes(lanes)));
  body.store(out, position, body.put(f(graph, values)));
  body.close(range);
  return body.kernel();
}

}  // namespace hearth::codegen
