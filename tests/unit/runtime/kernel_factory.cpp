#include "tests/unit/runtime/kernel_factory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/sha256.h"
#include "proto/versions.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "tests/unit/runtime/far_device.h"
#include "tests/unit/runtime/glsl_kernel.h"

namespace hearth::testing {
namespace fs = std::filesystem;

const std::string& scratch_folder() {
  struct Folder {
    std::string path;
    Folder() {
      std::string name = (fs::temp_directory_path() / "hearth-runtime-XXXXXX").string();
      if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
      path = name;
    }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

namespace {

// What `command` makes of `source`, which it finds in the file whose name is in the place of "IN", in "OUT".
runtime::ArtifactSource compile_file(const std::string& source, const std::string& suffix, std::string command) {
  static std::map<std::string, runtime::ArtifactSource> done;
  if (auto found = done.find(source); found != done.end()) return found->second;
  const std::string base = scratch_folder() + "/kernel" + std::to_string(done.size());
  const std::string in = base + suffix, out = base + ".out";
  std::ofstream(in) << "#include <stdint.h>\n" << source;
  command.replace(command.find("OUT"), 3, out);
  command.replace(command.find("IN"), 2, in);
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  fs::permissions(out, fs::perms::owner_read | fs::perms::owner_write);
  std::ostringstream bytes;
  bytes << std::ifstream(out, std::ios::binary).rdbuf();
  runtime::ArtifactSource artifact{to_bytes(sha256(bytes.str())), out, bytes.str()};
  done[source] = artifact;
  return artifact;
}

// PTX by nvcc, where there is a GPU.
runtime::ArtifactSource compile_cuda(const std::string& source, const std::string& arch) {
  const bool is_on_path = std::system("command -v nvcc >/dev/null") == 0;
  const std::string nvcc = is_on_path ? "nvcc" : "/usr/local/cuda/bin/nvcc";
  return compile_file(source, ".cu", nvcc + " -ptx -arch=" + arch + " -o OUT IN");
}

}  // namespace

runtime::ArtifactSource compile_kernel(const std::string& source) {
  const char* cc = std::getenv("HEARTH_CC");
  return compile_file(source, ".c", std::string(cc && *cc ? cc : "cc") + " -shared -fPIC -O1 -nostdlib -o OUT IN");
}

runtime::ArtifactSource compile_map(const std::string& symbol, const std::vector<std::string>& arrays,
                                    const std::string& statement, const std::string& type) {
  const v1::Target target = device_of_tests() != nullptr ? device_of_tests()->target(1) : v1::Target();
  if (target.has_gpu() && target.device() == "vulkan") {
    const std::string module = compile_glsl(arrays, type, statement);
    return {to_bytes(sha256(module)), "", module};
  }
  const bool is_gpu = target.has_gpu(), is_cuda = target.triple().starts_with("nvptx");
  std::string source = "#define ALIGNED(array) ((uintptr_t)(array) % 4 == 0)\n";
  // Of a GPU the row's words; a stand-in of its driver calls invocations (hearth_simt_fn).
  source += is_cuda  ? "extern \"C\" __global__ void " + symbol + "(const uint64_t* b) {\n"
            : is_gpu ? "void " + symbol + "(const uint64_t* b, int64_t i0, int64_t all) {\n"
                     : "void " + symbol + "(void* const* b, const int64_t* v, int64_t i0, int64_t i1) {\n  (void)v;\n";
  if (is_cuda) {
    source +=
        "  const int64_t i0 = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, "
        "all = gridDim.x * (int64_t)blockDim.x;\n";
  }
  for (std::size_t i = 0; i < arrays.size(); ++i)
    source += "  " + type + "* " + arrays[i] + " = (" + type + "*)b[" + std::to_string(is_gpu ? i + 1 : i) + "];\n";
  source +=
      is_gpu ? "  for (int64_t i = i0; i < (int64_t)b[0]; i += all) {\n" : "  for (int64_t i = i0; i < i1; ++i) {\n";
  source += statement + "\n} }\n";
  return is_cuda ? compile_cuda(source, target.arch()) : compile_kernel(source);
}

void set_target(v1::Plan& plan, int threads) {
  const runtime::Device* const device = device_of_tests();
  *plan.mutable_target() = device == nullptr ? runtime::cpu_target(threads) : device->target(threads);
  if (!plan.target().has_gpu()) return;
  plan.mutable_target()->mutable_gpu()->set_workgroup_size(kGlslWorkgroup);
  for (v1::PlanKernel& kernel : *plan.mutable_kernels()) kernel.set_workgroup_size(kGlslWorkgroup);
}

void push_const(v1::Expr* expr, std::int64_t value) {
  v1::ExprToken* token = expr->add_tokens();
  token->set_kind(v1::ExprToken::CONST);
  token->set_value(value);
}

void push_var(v1::Expr* expr, std::int64_t index) {
  v1::ExprToken* token = expr->add_tokens();
  token->set_kind(v1::ExprToken::VAR);
  token->set_value(index);
}

void push_op(v1::Expr* expr, v1::ExprToken::Kind kind) { expr->add_tokens()->set_kind(kind); }

SaxpyPlan saxpy_plan(std::int64_t max_n, bool symbolic, int launches) {
  // Slots: scale: t, x, a. add: out, t, y. twice (once): a2 = a * 2 is not needed by the maths and checks ordering:
  // the parameter is doubled at prepare and halved by the kernel.
  const runtime::ArtifactSource scale = compile_map("scale", {"t", "x", "a2"}, "t[i] = a2[0] * 0.5f * x[i];"),
                                add = compile_map("add", {"o", "t", "y"}, "o[i] = t[i] + y[i];"),
                                twice = compile_map("twice", {"o", "a"}, "o[i] = 2 * a[i];");
  SaxpyPlan result;
  result.artifacts = {scale, add, twice};
  v1::Plan& plan = result.plan;
  plan.set_version(kPlanVersion);
  if (symbolic) {
    v1::Variable* n = plan.add_vars();
    n->set_name("n");
    n->set_max(max_n);
  }
  auto length = [&](v1::Expr* expr) { symbolic ? push_var(expr, 0) : push_const(expr, max_n); };
  auto buffer = [&](v1::PlanBuffer::Kind kind, const std::string& name, bool one) {
    v1::PlanBuffer* out = plan.add_buffers();
    out->set_kind(kind);
    out->set_name(name);
    out->set_dtype(v1::F32);
    out->set_max_bytes(static_cast<std::uint64_t>(one ? 4 : 4 * max_n));
    one ? push_const(out->add_shape(), 1) : length(out->add_shape());
  };
  buffer(v1::PlanBuffer::INPUT, "x", false);
  buffer(v1::PlanBuffer::INPUT, "y", false);
  buffer(v1::PlanBuffer::OUTPUT, "out", false);
  buffer(v1::PlanBuffer::PARAMETER, "a", true);
  buffer(v1::PlanBuffer::ARENA, "", false);
  buffer(v1::PlanBuffer::PERSISTENT, "", true);
  plan.set_arena_bytes(static_cast<std::uint64_t>(4 * max_n));
  plan.set_persistent_bytes(64);
  for (const auto& [symbol, artifact] : {std::pair("scale", scale), std::pair("add", add), std::pair("twice", twice)}) {
    v1::PlanKernel* kernel = plan.add_kernels();
    kernel->set_symbol(symbol);
    kernel->set_artifact(artifact.digest);
    kernel->set_num_ops(7);
  }
  auto launch = [&](std::uint32_t kernel, std::initializer_list<std::uint32_t> slots, bool once) {
    v1::Launch* out = plan.add_launches();
    out->set_kernel(kernel);
    for (std::uint32_t slot : slots) out->add_buffers(slot);
    if (symbolic && !once) out->add_vars(0);
    once ? push_const(out->mutable_grid(), 1) : length(out->mutable_grid());
    out->set_once(once);
    out->set_min_units_per_thread(16);
  };
  launch(2, {5, 3}, true);
  launch(0, {4, 0, 5}, false);
  launch(1, {2, 4, 1}, false);
  for (int i = 2; i < launches; ++i) {
    const v1::Launch again = plan.launches(1 + i % 2);  // behind the one that runs once
    *plan.add_launches() = again;
  }
  set_target(plan, 4);
  return result;
}

}  // namespace hearth::testing
