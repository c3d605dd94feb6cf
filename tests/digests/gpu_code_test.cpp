// Every kernel of the models at hand and of a sample of ONNX's cases, drawn anew in every run, as LLVM compiles it for
// GPUs, before judges that are not ours: PTX is assembled by NVIDIA's ptxas (HEARTH_PTXAS, else the one on PATH or of
// /usr/local/cuda), code objects are read by LLVM's readelf. Neither calls anything, or spills what is worth a word. HEARTH_FUZZ_COUNT says
// how many ONNX cases.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/generator.h"
#include "compiler/compile.h"
#include "runtime/devices/named_target.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/digests/digest_cases.h"
#include "tests/support/fresh_seed.h"
#include "tests/support/skip.h"
#include "tests/support/workgroup_kernels.h"

namespace hearth::digests {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/hearth-gpu-code-XXXXXX";
    REQUIRE(mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& bytes) const {
    const fs::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  fs::path path_;
};

struct Ran {
  int code = -1;
  std::string text;
};

Ran run(const std::string& command) {
  Ran ran;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.text.append(buffer, n);
  ran.code = pclose(pipe);
  return ran;
}

std::string find_ptxas() {
  if (const char* given = std::getenv("HEARTH_PTXAS")) return given;
  for (const char* name : {"ptxas", "/usr/local/cuda/bin/ptxas"}) {
    if (run(absl::StrCat(name, " --version")).code == 0) return name;
  }
  return "";
}

// A few registers' worth: a long elementwise kernel may have more values alive than an invocation has registers.
constexpr int kMaxSpilledBytes = 64;
// Which go to lanes of two vector registers.
constexpr int kMaxSpilledScalars = 128;

// By symbol: kernels that several graphs have are compiled once.
struct FoundKernel {
  v1::KernelSpec spec;
  std::string graph;  // where it was found first
};
using Kernels = std::map<std::string, FoundKernel>;

void add_kernels(const v1::Graph& graph, const std::string& name, const v1::Target& target, Kernels* kernels) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(graph, target, options);
  INFO(lowered.status().message());
  REQUIRE(lowered.ok());
  for (const v1::KernelSpec& kernel : lowered->kernels()) kernels->emplace(kernel.symbol(), FoundKernel{kernel, name});
}

std::string graph_of(const Kernels& kernels, const std::string& symbol) {
  const auto found = kernels.find(symbol);
  return found == kernels.end() ? "none" : found->second.graph;
}

// The kernels of ptxas' report that spill more, each with how much.
std::string spilling(const std::string& report, const Kernels& kernels) {
  static const std::regex line("Function properties for (\\w+)\n.* ([0-9]+) bytes spill stores");
  std::string found;
  for (auto i = std::sregex_iterator(report.begin(), report.end(), line); i != std::sregex_iterator(); ++i) {
    if (std::stoi((*i)[2].str()) > kMaxSpilledBytes)
      absl::StrAppend(&found, (*i)[1].str(), " of ", graph_of(kernels, (*i)[1].str()), ": ", (*i)[2].str(), "\n");
  }
  return found;
}

// The kernels of readelf's notes that spill more, likewise.
std::string spilling_vectors(const std::string& notes, const Kernels& kernels) {
  static const std::regex line("\\.symbol: +(\\w+)\\.kd|\\.vgpr_spill_count: +([0-9]+)");
  std::string symbol, found;
  for (auto i = std::sregex_iterator(notes.begin(), notes.end(), line); i != std::sregex_iterator(); ++i) {
    if ((*i)[1].matched) {
      symbol = (*i)[1].str();
    } else if (std::stoi((*i)[2].str()) > kMaxSpilledBytes / 4) {
      absl::StrAppend(&found, symbol, " of ", graph_of(kernels, symbol), ": ", (*i)[2].str(), "\n");
    }
  }
  return found;
}

Kernels kernels_for(const v1::Target& target) {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  std::vector<DigestCase> cases = digest_cases(source_dir, "");
  const auto is_onnx = [](const DigestCase& c) { return c.name.starts_with("onnx/"); };
  std::vector<DigestCase> drawn;
  std::ranges::copy_if(cases, std::back_inserter(drawn), is_onnx);
  std::erase_if(cases, [](const DigestCase& c) { return !c.name.starts_with("models/"); });
  std::shuffle(drawn.begin(), drawn.end(), std::mt19937_64(test::fresh_seed()));
  drawn.resize(std::min<std::size_t>(drawn.size(), test::fresh_count(20)));
  cases.insert(cases.end(), drawn.begin(), drawn.end());
  Kernels kernels;
  for (const DigestCase& c : cases) {
    const absl::StatusOr<v1::Graph> graph = c.graph();
    if (!graph.ok()) continue;  // it needs what is fed at run time
    INFO(c.name);
    add_kernels(*graph, c.name, target, &kernels);
  }
  return kernels;
}

std::string compiled(const v1::KernelSpec& kernel, const v1::Target& target, v1::Artifact::Format format) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  const absl::StatusOr<v1::CompiledKernel> done = compiler::compile_kernel(kernel, target, options);
  INFO(done.status().message() << "\n" << kernel.ast());
  REQUIRE(done.ok());
  REQUIRE(done->artifact().format() == format);
  return done->artifact().data();
}

}  // namespace

TEST_CASE("PTX is assembled by ptxas with hardly a spill, and calls nothing") {
  const std::string ptxas = find_ptxas();
  const std::string name = GENERATE("cuda:sm_70", "cuda:sm_80", "cuda:sm_90a");
  const v1::Target target = *runtime::named_target(name);
  std::string all;
  const Kernels kernels = kernels_for(target);
  for (const auto& [symbol, kernel] : kernels) {
    std::string text = compiled(kernel.spec, target, v1::Artifact::PTX);
    CHECK_FALSE(absl::StrContains(text, ".extern"));
    CHECK(absl::StrContains(text, absl::StrCat(".visible .entry ", symbol, "(")));
    // One module of all: of the others, what stands behind its first lines.
    if (!all.empty()) text = text.substr(text.find('\n', text.find(".address_size")));
    all += text;
  }
  if (ptxas.empty()) SKIP_CASE("there is no ptxas");
  const Folder folder;
  // CUDA 13's assembles for no Volta; sm_70's PTX is also Turing's.
  const std::string arch = target.arch() == "sm_70" ? "sm_75" : target.arch();
  const Ran ran = run(absl::StrCat(ptxas, " -v -arch=", arch, " ", folder.write("all.ptx", all), " -o /dev/null"));
  if (absl::StrContains(ran.text, "is not defined for option 'gpu-name'")) SKIP_CASE("this ptxas has no " + arch);
  INFO((ran.code == 0 ? "" : ran.text.substr(0, 4000)));
  CHECK(ran.code == 0);
  CHECK(spilling(ran.text, kernels) == "");
  std::printf("%s: %zu kernels assembled\n", name.c_str(), kernels.size());
}

TEST_CASE("code objects of AMD GPUs have a kernel of their wave size, with hardly a spill") {
  const std::string name = GENERATE("hip:gfx90a", "hip:gfx942", "hip:gfx1100", "hip:gfx1201", "hip:gfx11-generic");
  const v1::Target target = *runtime::named_target(name);
  const Folder folder;
  std::string files;
  const Kernels kernels = kernels_for(target);
  for (const auto& [symbol, kernel] : kernels)
    absl::StrAppend(&files, " ", folder.write(symbol + ".hsaco", compiled(kernel.spec, target, v1::Artifact::HSACO)));
  const Ran ran = run(absl::StrCat(HEARTH_READELF, " --notes --dyn-syms --wide", files));
  INFO(ran.text.substr(0, 4000));
  REQUIRE(ran.code == 0);
  // The greatest value of a note, and how many kernels have it.
  const auto greatest = [&](const std::string& note) {
    const std::regex line("\\." + note + ": +([0-9]+)\n");
    std::pair<int, std::size_t> found;
    for (auto i = std::sregex_iterator(ran.text.begin(), ran.text.end(), line); i != std::sregex_iterator(); ++i)
      found = {std::max(found.first, std::stoi((*i)[1].str())), found.second + 1};
    return found;
  };
  const auto [vectors, num_vectors] = greatest("vgpr_spill_count");
  const auto [scalars, num_scalars] = greatest("sgpr_spill_count");
  const auto [wave, num_waves] = greatest("wavefront_size");
  CHECK(spilling_vectors(ran.text, kernels) == "");
  CHECK(scalars <= kMaxSpilledScalars);
  CHECK(greatest("private_segment_fixed_size").first <= 2 * kMaxSpilledBytes);
  CHECK(wave == static_cast<int>(target.gpu().subgroup_size()));
  CHECK((num_vectors == kernels.size() && num_scalars == kernels.size() && num_waves == kernels.size()));
  const std::regex symbol(R"( hearth_\w+\.kd\n)");  // in the notes, and among the symbols
  const auto symbols =
      std::distance(std::sregex_iterator(ran.text.begin(), ran.text.end(), symbol), std::sregex_iterator());
  CHECK(static_cast<std::size_t>(symbols) == 2 * kernels.size());
  std::printf("%s: %zu kernels, of which one spills %d vector and one %d scalar registers\n", name.c_str(),
              kernels.size(), vectors, scalars);
}

TEST_CASE("a kernel of workgroups has its barriers, shared memory and size in the code for every GPU") {
  constexpr int kWidth = 256;
  v1::CompileOptions options;
  options.set_opt_level(2);
  const std::string ptxas = find_ptxas();
  const Folder folder;
  for (const char* name : {"cuda:sm_70", "cuda:sm_80", "cuda:sm_90a", "hip:gfx90a", "hip:gfx942", "hip:gfx1100",
                           "hip:gfx1201", "hip:gfx11-generic"}) {
    INFO(name);
    const target::Target target(*runtime::named_target(name));
    const auto kernel = test::parsed(test::tree_sum(kWidth, 3));
    const absl::StatusOr<v1::Artifact> made = codegen::generator_for(target).compile(
        {.symbol = "sums", .body = kernel->body, .num_buffers = 2, .num_vars = 0}, target, options);
    INFO(made.status().message());
    REQUIRE(made.ok());
    if (target.device() == "cuda") {
      INFO(made->data());
      CHECK(absl::StrContains(made->data(), "bar.sync"));
      CHECK(absl::StrContains(made->data(), ".shared .align 16 .b8"));
      CHECK(absl::StrContains(made->data(), absl::StrCat(".reqntid ", kWidth, ", 1, 1")));
      if (ptxas.empty() || std::string(name) == "cuda:sm_70") continue;
      const Ran ran = run(absl::StrCat(ptxas, " -v -arch=", target.record().arch(), " ",
                                       folder.write("sums.ptx", made->data()), " -o /dev/null"));
      INFO(ran.text);
      CHECK(ran.code == 0);
      CHECK(absl::StrContains(ran.text, absl::StrCat(4 * kWidth, " bytes smem")));
      CHECK(spilling(ran.text, {}) == "");
      continue;
    }
    const Ran ran = run(absl::StrCat(HEARTH_READELF, " --notes ", folder.write("sums.hsaco", made->data())));
    INFO(ran.text);
    CHECK(absl::StrContains(ran.text, absl::StrCat(".group_segment_fixed_size: ", 4 * kWidth)));
    CHECK(absl::StrContains(ran.text, absl::StrCat(".max_flat_workgroup_size: ", kWidth)));
    CHECK(absl::StrContains(ran.text, ".private_segment_fixed_size: 0"));
  }
  if (ptxas.empty()) SKIP_CASE("there is no ptxas");
}

TEST_CASE(
    "a product of f16, bf16 or bytes is the matrix unit's on every GPU that has one, with wide loads and no spill") {
  struct Unit {
    const char *target, *of_halves, *of_bytes, *load, *byte_load;  // loads from shared memory
  };
  const Unit units[] = {{"cuda:sm_80", "mma.sync.aligned.m16n8k16.row.col", "mma.sync.aligned.m16n8k32.row.col",
                         "ld.shared", "ld.shared"},
                        {"cuda:sm_90a", "mma.sync.aligned.m16n8k16.row.col", "mma.sync.aligned.m16n8k32.row.col",
                         "ld.shared", "ld.shared"},
                        {"hip:gfx90a", "v_mfma_f32_16x16x16", "v_mfma_i32_16x16x16", "ds_read_b64", "ds_read"},
                        {"hip:gfx942", "v_mfma_f32_16x16x16", "v_mfma_i32_16x16x32", "ds_read_b64", "ds_read_b64"},
                        {"hip:gfx1100", "v_wmma_f32_16x16x16", "v_wmma_i32_16x16x16", "ds_load_b128", "ds_load_b128"},
                        {"hip:gfx1201", "v_wmma_f32_16x16x16", "v_wmma_i32_16x16x16", "ds_load_b128", "ds_load"},
                        {"cuda:sm_70", "", "", "", ""}};
  const std::string ptxas = find_ptxas();
  const Folder folder;
  for (const Unit& unit : units) {
    for (const v1::DType dtype : {v1::F16, v1::BF16, v1::I8}) {
      const char* const instruction = dtype == v1::I8 ? unit.of_bytes : unit.of_halves;
      INFO(unit.target << " " << v1::DType_Name(dtype));
      const v1::Target target = *runtime::named_target(unit.target);
      conformance::GraphBuilder b;
      const auto operand = [&] {
        const auto x = b.input(dtype, {1024, 1024});
        return dtype == v1::I8 ? b.cast(x, v1::I32) : x;
      };
      const auto left = operand(), right = operand();
      b.output(b.op(v1::MATMUL, {left, right}));
      v1::CompileOptions options;
      options.set_opt_level(2);
      const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(b.graph(), target, options);
      REQUIRE(lowered.ok());
      REQUIRE(lowered->kernels_size() == 1);
      options.set_dump(true);
      const absl::StatusOr<v1::CompiledKernel> done = compiler::compile_kernel(lowered->kernels(0), target, options);
      REQUIRE(done.ok());
      const std::string& text = done->passes(done->passes_size() - 1).text();
      if (*instruction == '\0') {
        CHECK_FALSE(absl::StrContains(text, "mma."));
        continue;
      }
      CHECK(absl::StrContains(text, instruction));
      if (target.device() == "cuda") {
        CHECK((absl::StrContains(text, "ld.shared.b32") || absl::StrContains(text, "ld.shared.u32")));
        CHECK_FALSE((absl::StrContains(text, "ld.shared.u16") || absl::StrContains(text, "ld.shared.u8")));
        if (ptxas.empty()) continue;
        const Ran ran = run(absl::StrCat(ptxas, " -v -arch=", target.arch(), " ",
                                         folder.write("product.ptx", done->artifact().data()), " -o /dev/null"));
        INFO(ran.text);
        CHECK(ran.code == 0);
        CHECK(spilling(ran.text, {}) == "");
        continue;
      }
      CHECK(absl::StrContains(text, dtype == v1::I8 ? unit.byte_load : unit.load));
      for (const char* narrow : {"ds_read_u16", "ds_load_u16", "ds_read_u8", "ds_load_u8"})
        CHECK_FALSE(absl::StrContains(text, narrow));
      CHECK(absl::StrContains(text, ".vgpr_spill_count: 0"));
    }
  }
}

}  // namespace hearth::digests
