// The output itself: IR text, determinism, exports, other targets, and errors for bad targets and bodies.
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "compiler/passes/lowered/decompose.h"
#include "tests/unit/codegen/element_value.h"
#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

passes::LinearKernel add_kernel(ir::Graph& g) {
  return elementwise_kernel(g, 64, {Scalar::F32, Scalar::F32}, Scalar::F32, 1,
                            [](ir::Graph& graph, auto& v) { return graph.add(graph.mul(v[0], v[0]), v[1]); });
}
passes::LinearKernel exp_kernel(ir::Graph& g) {
  return elementwise_kernel(g, 1024, {Scalar::F32}, Scalar::F32, 8, [](ir::Graph& graph, auto& v) {
    return passes::decompose(graph, graph.unary(Op::Exp, v[0]), host_target());
  });
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("golden IR of an elementwise kernel") {
  ir::Graph g;
  v1::Target target = baseline_target();
  target.set_triple("x86_64-unknown-linux-gnu");
  target.clear_features();
  target.add_features("avx2");
  target.set_vector_bits(256);
  auto text = emit_llvm_ir(add_kernel(g), target, default_options());
  REQUIRE(text.ok());
  const char* source = std::getenv("HEARTH_SOURCE_DIR");
  std::string path = std::string(source ? source : ".") + "/tests/unit/codegen/elementwise.ll";
  if (std::getenv("HEARTH_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << *text;
  INFO("HEARTH_UPDATE_GOLDEN=1 rewrites " << path);
  CHECK(*text == file_bytes(path));
}

// Run by the test below in other processes.
TEST_CASE("write an artifact", "[.child]") {
  ir::Graph g;
  if (std::getenv("HEARTH_CHILD_WARM")) REQUIRE(compile_cpu(exp_kernel(g), aarch64_target(), default_options()).ok());
  auto elf = compile_cpu(exp_kernel(g), host_target(), default_options());
  REQUIRE(elf.ok());
  const char* out = std::getenv("HEARTH_CHILD_OUT");
  REQUIRE(out);
  std::ofstream(out, std::ios::binary) << *elf;
}

TEST_CASE("equal input gives equal bytes in any process and folder, whatever ran before") {
  ir::Graph g;
  auto here = compile_cpu(exp_kernel(g), host_target(), default_options());
  REQUIRE(here.ok());
  REQUIRE(compile_cpu(add_kernel(g), baseline_target(), default_options()).ok());
  auto again = compile_cpu(exp_kernel(g), host_target(), default_options());
  REQUIRE(again.ok());
  CHECK(*here == *again);
  for (bool is_warm : {false, true}) {
    char folder[] = "/tmp/hearth_codegen_XXXXXX";
    REQUIRE(mkdtemp(folder));
    std::string out = std::string(folder) + "/kernel.so";
    std::string self = std::string(4096, '\0');
    self.resize(static_cast<std::size_t>(readlink("/proc/self/exe", self.data(), self.size())));
    std::string command = "cd " + std::string(folder) + " && TMPDIR=" + folder + " HEARTH_CHILD_OUT=" + out +
                          (is_warm ? " HEARTH_CHILD_WARM=1 '" : " '") + self + "' '[.child]' > child.log";
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(file_bytes(out) == *here);
    for (const char* name : {"/kernel.so", "/child.log"}) unlink((folder + std::string(name)).c_str());
    rmdir(folder);
  }
}

struct DynamicSymbols {
  std::vector<std::string> defined, undefined;
};
DynamicSymbols dynamic_symbols(const std::string& elf) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), elf.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  DynamicSymbols out;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = sizeof(Elf64_Sym); at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, elf.data() + section.sh_offset + at, sizeof symbol);
      (symbol.st_shndx == SHN_UNDEF ? out.undefined : out.defined)
          .push_back(elf.data() + sections[section.sh_link].sh_offset + symbol.st_name);
    }
  }
  return out;
}

TEST_CASE("a kernel exports its symbol, needs nothing and names no path") {
  ir::Graph g;
  auto elf = compile_cpu(exp_kernel(g), host_target(), default_options());
  REQUIRE(elf.ok());
  DynamicSymbols symbols = dynamic_symbols(*elf);
  CHECK(symbols.defined == std::vector<std::string>{"kernel"});
  CHECK(symbols.undefined.empty());
  CHECK(elf->find("/proc") == std::string::npos);
  CHECK(elf->size() < 8192);
}

// Everything decompose and the emitter can make, for a machine this is not.
TEST_CASE("aarch64 artifacts have no undefined symbol") {
  std::vector<std::pair<Op, Scalar>> cases;
  for (Scalar s : {Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64}) {
    for (Op op :
         {Op::Exp, Op::Log, Op::Sin, Op::Tanh, Op::Erf, Op::Pow, Op::Sigmoid, Op::Round, Op::Sqrt, Op::Max, Op::Div})
      cases.emplace_back(op, s);
  }
  for (Scalar s : {Scalar::I8, Scalar::I64, Scalar::U64}) {
    for (Op op : {Op::FloorDiv, Op::TruncMod, Op::Mul, Op::Shr, Op::Min}) cases.emplace_back(op, s);
  }
  ir::Graph g;
  Body body(g);
  std::uint32_t slot = 0;
  UOpRef range = nullptr;
  std::vector<std::pair<UOpRef, UOpRef>> io;
  for (auto [op, s] : cases) {
    UOpRef in = body.param(slot++, s);
    io.emplace_back(in, body.param(slot++, s));
  }
  range = body.open(body.i64(16));
  UOpRef base = body.put(g.mul(range, body.i64(4)));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto [op, s] = cases[i];
    UOpRef x = body.load(io[i].first, base, DType(s, 4));
    UOpRef args[] = {x, x};
    body.store(
        io[i].second, base,
        body.put(passes::decompose(
            g, g.make(op, x->dtype, std::span<const UOpRef>(args, static_cast<std::size_t>(ir::max_sources(op)))),
            aarch64_target())));
  }
  body.close(range);
  auto elf = compile_cpu(body.kernel(), aarch64_target(), default_options());
  INFO(elf.status().ToString());
  REQUIRE(elf.ok());
  Elf64_Ehdr header;
  std::memcpy(&header, elf->data(), sizeof header);
  CHECK(header.e_machine == EM_AARCH64);
  CHECK(header.e_type == ET_DYN);
  CHECK(dynamic_symbols(*elf).undefined.empty());
}

TEST_CASE("an unknown triple or feature is refused by name") {
  ir::Graph g;
  auto kernel = add_kernel(g);
  auto error_of = [&](const std::string& triple, const std::string& feature) {
    v1::Target target;
    target.set_device("cpu");
    target.set_triple(triple);
    if (!feature.empty()) target.add_features(feature);
    auto result = compile_cpu(kernel, target, default_options());
    CHECK(result.status().code() == absl::StatusCode::kInvalidArgument);
    return result.status().ToString();
  };
  CHECK(error_of("x86_64-unknown-linux-gnu", "avx9000").find("\"avx9000\"") != std::string::npos);
  CHECK(error_of("x86_64-unknown-linux-gnu", "+avx").find("\"+avx\"") != std::string::npos);
  CHECK(error_of("aarch64-unknown-linux-gnu", "avx2").find("\"avx2\"") != std::string::npos);
  for (const char* triple : {"", "quantum-unknown-linux-gnu", "riscv64-unknown-linux-gnu", "x86_64-pc-windows-msvc",
                             "x86_64-apple-darwin", "-----"}) {
    CHECK(error_of(triple, "").find("target.triple") != std::string::npos);
  }
}

TEST_CASE("a malformed body is an error that names the node") {
  auto error_of = [](auto build) {
    ir::Graph g;
    Body body(g);
    passes::LinearKernel kernel = build(g, body);
    auto result = compile_cpu(kernel, host_target(), default_options());
    CHECK_FALSE(result.ok());
    return result.status().ToString();
  };
  auto unclosed = error_of([](ir::Graph&, Body& body) {
    body.open(body.i64(4));
    return body.kernel();
  });
  CHECK(unclosed.find("no end") != std::string::npos);
  auto undefined = error_of([](ir::Graph& g, Body& body) {
    UOpRef out = body.param(0, Scalar::F32);
    UOpRef x = g.make(Op::Load, Scalar::F32, {g.make(Op::Index, DType(), {out, body.i64(0), g.boolean(true)})});
    passes::LinearKernel kernel = body.kernel();
    kernel.body.push_back(
        g.make(Op::Store, DType(), {g.make(Op::Index, DType(), {out, body.i64(1), g.boolean(true)}), x}));
    return kernel;
  });
  CHECK(undefined.find("before it is defined") != std::string::npos);
  auto early = error_of([](ir::Graph& g, Body& body) {
    UOpRef out = body.param(0, Scalar::F32);
    body.store(out, body.i64(0), body.put(g.unary(Op::Exp, body.load(out, body.i64(0), Scalar::F32))));
    return body.kernel();
  });
  CHECK(early.find("exp") != std::string::npos);
  auto crossed = error_of([](ir::Graph&, Body& body) {
    UOpRef a = body.open(body.i64(4)), b = body.open(body.i64(5));
    body.close(a), body.close(b);
    return body.kernel();
  });
  CHECK(crossed.find("innermost") != std::string::npos);
  auto slot = error_of([](ir::Graph&, Body& body) {
    body.param(3, Scalar::F32);
    passes::LinearKernel kernel = body.kernel();
    kernel.num_buffers = 2;
    return kernel;
  });
  CHECK(slot.find("2 buffers") != std::string::npos);
}

// sum[0] = a[0] + ... + a[1023], scalar in the IR: vectorising it needs the reduction's freedom to reorder.
passes::LinearKernel sum_kernel(ir::Graph& g) {
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  UOpRef acc = body.acc(g.constant(Scalar::F32, 0.0));
  UOpRef i = body.open(body.i64(1024));
  UOpRef x = body.load(in, i, Scalar::F32);
  body.update(acc, body.put(g.mul(x, x)), ir::ReduceKind::Sum);
  UOpRef end = body.close(i);
  body.store(out, body.i64(0), body.result(acc, end));
  return body.kernel();
}

TEST_CASE("scalar loops are vectorised to the target's width, with fma where it has it") {
  v1::Target target = baseline_target();
  target.set_triple("x86_64-unknown-linux-gnu");
  for (const char* feature : {"avx2", "fma"}) target.add_features(feature);
  target.set_vector_bits(256);
  ir::Graph g;
  for (const passes::LinearKernel& kernel : {add_kernel(g), sum_kernel(g)}) {
    auto text = emit_assembly(kernel, target, default_options());
    REQUIRE(text.ok());
    bool is_wide_fma = false;
    for (std::size_t at = text->find("vfmadd"); at != std::string::npos; at = text->find("vfmadd", at + 1)) {
      is_wide_fma |= text->substr(at, 60).find("%ymm") < text->substr(at, 60).find('\n');
    }
    INFO(*text);
    CHECK(is_wide_fma);
    CHECK(text->find("call") == std::string::npos);
  }
}

TEST_CASE("a large result is streamed past the caches, unless its buffer is not aligned") {
  constexpr std::int64_t kCount = (std::int64_t{32} << 20) / 4;
  ir::Graph g;
  auto twice = [](ir::Graph& graph, auto& v) { return graph.add(v[0], v[0]); };
  const auto large = elementwise_kernel(g, kCount, {Scalar::F32}, Scalar::F32, 8, twice);
  const auto small = elementwise_kernel(g, kCount / 2, {Scalar::F32}, Scalar::F32, 8, twice);
  if (host_target().triple().find("x86_64") == 0) {
    CHECK(emit_assembly(large, host_target(), default_options())->find("vmovntps") != std::string::npos);
    CHECK(emit_assembly(small, host_target(), default_options())->find("vmovntps") == std::string::npos);
  }
  Loaded run(large, host_target());
  std::vector<float> in(kCount), out(kCount + 32, -1);
  for (std::int64_t i = 0; i < kCount; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000);
  for (const std::size_t shift : {0, 1}) {  // elements off the alignment
    auto address = reinterpret_cast<std::uintptr_t>(out.data());
    float* aligned = reinterpret_cast<float*>((address + 63) / 64 * 64) + shift;
    std::fill(out.begin(), out.end(), -1.0F);
    run({aligned, in.data()});
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < kCount; ++i) wrong += aligned[i] != 2 * in[static_cast<std::size_t>(i)];
    INFO("shift " << shift);
    CHECK(wrong == 0);
    CHECK(aligned[kCount] == -1);
  }
}

}  // namespace
}  // namespace hearth::codegen
