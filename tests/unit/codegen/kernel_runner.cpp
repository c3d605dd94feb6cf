#include "tests/unit/codegen/kernel_runner.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace hearth::codegen {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

namespace {
v1::Target make_target(std::string triple, std::vector<std::string> features, std::uint32_t vector_bits) {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple(std::move(triple));
  for (std::string& feature : features) target.add_features(std::move(feature));
  target.set_vector_bits(vector_bits);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}
}  // namespace

v1::Target aarch64_target() { return make_target("aarch64-unknown-linux-gnu", {"neon"}, 128); }
v1::Target avx2_target() {
  return make_target("x86_64-unknown-linux-gnu", {"avx", "avx2", "f16c", "fma", "sse4.1"}, 256);
}
v1::Target avx512_target() {
  return make_target("x86_64-unknown-linux-gnu",
                     {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma", "sse4.1"}, 256);
}
#if defined(__x86_64__)
bool host_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
v1::Target host_target() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    return avx512_target();
  }
  return host_has_avx2() ? avx2_target() : baseline_target();
}
v1::Target widest_target() {
  v1::Target target = host_target();
  if (std::ranges::count(target.features(), "avx512f") > 0) target.set_vector_bits(512);
  return target;
}
v1::Target baseline_target() { return make_target("x86_64-unknown-linux-gnu", {}, 128); }
#else
bool host_has_avx2() { return false; }
v1::Target host_target() { return aarch64_target(); }
v1::Target baseline_target() { return aarch64_target(); }
v1::Target widest_target() { return aarch64_target(); }
#endif

v1::CompileOptions default_options() {
  v1::CompileOptions options;
  options.set_opt_level(2);
  return options;
}

UOpRef Body::put(UOpRef node) {
  for (UOpRef each : ir::toposort(node)) {
    if (std::ranges::find(body_, each) == body_.end()) body_.push_back(each);
  }
  return node;
}
UOpRef Body::param(std::uint32_t slot, DType dtype) {
  num_buffers_ = std::max(num_buffers_, static_cast<int>(slot) + 1);
  return put(g.make(Op::Param, dtype, {}, ir::ParamInfo{slot}));
}
UOpRef Body::var(std::uint32_t slot, std::int64_t min, std::int64_t max) {
  num_vars_ = std::max(num_vars_, static_cast<int>(slot) + 1);
  return put(g.make(Op::Var, Scalar::I64, {}, ir::VarInfo{"v" + std::to_string(slot), min, max, slot}));
}
UOpRef Body::open(UOpRef size, ir::RangeKind kind) {
  return put(g.make(Op::Range, Scalar::I64, {size}, ir::RangeInfo{g.fresh_id(), kind}));
}
UOpRef Body::close(UOpRef range) { return put(g.make(Op::End, DType(), {range})); }
UOpRef Body::load(UOpRef param, UOpRef position, DType dtype, UOpRef gate, UOpRef otherwise) {
  UOpRef index = g.make(Op::Index, DType(), {param, position, gate ? gate : g.boolean(true)});
  return put(otherwise ? g.make(Op::Load, dtype, {index, otherwise}) : g.make(Op::Load, dtype, {index}));
}
UOpRef Body::store(UOpRef param, UOpRef position, UOpRef value, UOpRef gate) {
  UOpRef index = g.make(Op::Index, DType(), {param, position, gate ? gate : g.boolean(true)});
  return put(g.make(Op::Store, DType(), {index, value}));
}
UOpRef Body::acc(UOpRef initial) { return put(g.make(Op::Acc, initial->dtype, {initial}, ir::AccInfo{g.fresh_id()})); }
UOpRef Body::update(UOpRef acc, UOpRef value, ir::ReduceKind kind) {
  return put(g.make(Op::AccUpdate, DType(), {acc, value}, ir::ReduceInfo{kind, {}}));
}
UOpRef Body::result(UOpRef acc, UOpRef end) { return put(g.make(Op::AccResult, acc->dtype, {acc, end})); }
passes::LinearKernel Body::kernel(std::string symbol) const {
  return {std::move(symbol), body_, num_buffers_, num_vars_};
}

Loaded::Loaded(const passes::LinearKernel& kernel, const v1::Target& target, const v1::CompileOptions& options) {
  absl::StatusOr<std::string> elf = compile_cpu(kernel, target, options);
  INFO(elf.status().ToString());
  REQUIRE(elf.ok());
  int fd = memfd_create("kernel.so", MFD_CLOEXEC);
  REQUIRE(write(fd, elf->data(), elf->size()) == static_cast<ssize_t>(elf->size()));
  library_ = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* error = dlerror();
  INFO((error ? error : ""));
  REQUIRE(library_);
  close(fd);
  function_ = reinterpret_cast<hearth_kernel_fn>(dlsym(library_, kernel.symbol.c_str()));
  REQUIRE(function_);
}
Loaded::~Loaded() {
  if (library_) dlclose(library_);
}
void Loaded::operator()(std::vector<void*> buffers, std::vector<std::int64_t> vars, std::int64_t begin,
                        std::int64_t end) const {
  function_(buffers.data(), vars.data(), begin, end);
}

}  // namespace hearth::codegen
