#include "compiler/codegen/generator.h"

#include "base/registry.h"
#include "base/status_macros.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/codegen/spirv/codegen.h"
#include "compiler/ir/text.h"

namespace hearth::codegen {
namespace {

using passes::LinearKernel;
using target::Target;

class LlvmGenerator final : public Generator {
 public:
  absl::StatusOr<v1::Artifact> compile(const LinearKernel& kernel, const Target& target,
                                       const v1::CompileOptions& options) const override {
    return codegen::compile(kernel, target.record(), options);
  }
  absl::StatusOr<std::string> source_text(const LinearKernel& kernel, const Target& target,
                                          const v1::CompileOptions& options) const override {
    return emit_llvm_ir(kernel, target.record(), options);
  }
  absl::StatusOr<std::string> assembly_text(const LinearKernel& kernel, const Target& target,
                                            const v1::CompileOptions& options) const override {
    return emit_assembly(kernel, target.record(), options);
  }
};

class SpirvGenerator final : public Generator {
 public:
  absl::StatusOr<v1::Artifact> compile(const LinearKernel& kernel, const Target& target,
                                       const v1::CompileOptions&) const override {
    HEARTH_ASSIGN_OR_RETURN(std::string module, spirv::compile(kernel, target));
    v1::Artifact artifact;
    artifact.set_format(v1::Artifact::SPIRV);
    artifact.set_data(std::move(module));
    return artifact;
  }
  absl::StatusOr<std::string> source_text(const LinearKernel& kernel, const Target& target,
                                          const v1::CompileOptions&) const override {
    return spirv::emit_text(kernel, target);
  }
  absl::StatusOr<std::string> assembly_text(const LinearKernel&, const Target&,
                                            const v1::CompileOptions&) const override {
    return std::string();  // the driver's
  }
};

// For a device that records launches and runs nothing: the linear kernel itself is all the code there is.
class NullGenerator final : public Generator {
 public:
  absl::StatusOr<v1::Artifact> compile(const LinearKernel&, const Target&, const v1::CompileOptions&) const override {
    v1::Artifact artifact;
    artifact.set_format(v1::Artifact::NONE);
    return artifact;
  }
  absl::StatusOr<std::string> source_text(const LinearKernel& kernel, const Target&,
                                          const v1::CompileOptions&) const override {
    return ir::print_list(kernel.body);
  }
  absl::StatusOr<std::string> assembly_text(const LinearKernel&, const Target&,
                                            const v1::CompileOptions&) const override {
    return std::string();
  }
};

Registry<Generator>& registry() {
  static Registry<Generator>& all =
      *new Registry<Generator>{{"null", new NullGenerator}, {"vulkan", new SpirvGenerator}};
  return all;
}

}  // namespace

const Generator& generator_for(const Target& target) {
  static const LlvmGenerator llvm;  // which refuses triples that it has no back end for
  const Generator* const registered = registry().find(target.device());
  return registered != nullptr ? *registered : llvm;
}

void register_generator(std::string_view device, const Generator& generator) { registry().add(device, generator); }

}  // namespace hearth::codegen
