// Generator: what makes an artifact of a kernel's linear form, one for each kind of target. Stateless; thread-safe; the
// same arguments give the same bytes on any host. Errors: INVALID_ARGUMENT for what is wrong with the target's record,
// UNIMPLEMENTED for an op or type that the target lacks, by name, INTERNAL for a bug, with the kernel's symbol.
//
//   const Generator& generator = generator_for(target);
//   absl::StatusOr<v1::Artifact> artifact = generator.compile(linear, target, options);
#pragma once
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/passes/lowered/linearize.h"
#include "compiler/target/target.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::codegen {

class Generator {
 public:
  virtual ~Generator() = default;

  virtual absl::StatusOr<v1::Artifact> compile(const passes::LinearKernel& kernel, const target::Target& target,
                                               const v1::CompileOptions& options) const = 0;

  // For explain: the kernel as the generator emits it, before anything optimises it, and as the device will run it;
  // empty where there is no such text.
  virtual absl::StatusOr<std::string> source_text(const passes::LinearKernel& kernel, const target::Target& target,
                                                  const v1::CompileOptions& options) const = 0;
  virtual absl::StatusOr<std::string> assembly_text(const passes::LinearKernel& kernel, const target::Target& target,
                                                    const v1::CompileOptions& options) const = 0;
};

// The generator of the target's kind: LLVM's where none has been registered for it.
const Generator& generator_for(const target::Target& target);

// For targets of this device (target/target_kind.h). Borrowed, until the process ends.
void register_generator(std::string_view device, const Generator& generator);

}  // namespace hearth::codegen
