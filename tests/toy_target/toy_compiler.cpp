#include "tests/toy_target/toy_compiler.h"

#include "compiler/codegen/generator.h"
#include "compiler/ir/text.h"
#include "compiler/schedule/scheduler.h"
#include "compiler/target/target_kind.h"

namespace hearth::toy {
namespace {

target::Capabilities capabilities(const v1::Target&) { return {}; }  // scalars, as of no device in particular

absl::Status check(const v1::Target& record) {
  if (record.vector_bits() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError("target.vector_bits: a toy has no vectors");
}

// Loops of sums go two steps at a time.
class Scheduler final : public schedule::Scheduler {
 public:
  std::vector<schedule::Opt> choose(ir::UOpRef kernel, const target::Target&, double,
                                    const std::vector<schedule::SlotFacts>&) const override {
    for (const ir::UOpRef node : ir::toposort(kernel)) {
      if (node->is(ir::Op::Range) && node->as<ir::RangeInfo>().kind == ir::RangeKind::Reduce)
        return {{schedule::Opt::Kind::Unroll, node->as<ir::RangeInfo>().axis, 2}};
    }
    return {};
  }
  std::vector<std::vector<schedule::Opt>> neighbours(ir::UOpRef, const target::Target&,
                                                     const Neighbourhood&) const override {
    return {};
  }
};

class Generator final : public codegen::Generator {
 public:
  absl::StatusOr<v1::Artifact> compile(const passes::LinearKernel& kernel, const target::Target& target,
                                       const v1::CompileOptions& options) const override {
    v1::Artifact artifact;
    artifact.set_format(v1::Artifact::NONE);
    artifact.set_data(*source_text(kernel, target, options));
    return artifact;
  }
  absl::StatusOr<std::string> source_text(const passes::LinearKernel& kernel, const target::Target&,
                                          const v1::CompileOptions&) const override {
    return ir::print_list(kernel.body);
  }
  absl::StatusOr<std::string> assembly_text(const passes::LinearKernel&, const target::Target&,
                                            const v1::CompileOptions&) const override {
    return std::string();
  }
};

}  // namespace

void register_compiler() {
  static const target::TargetKind kind = {capabilities, check};
  static const Scheduler scheduler;
  static const Generator generator;
  target::register_target_kind("toy", kind);
  schedule::register_scheduler("toy", scheduler);
  codegen::register_generator("toy", generator);
}

}  // namespace hearth::toy
