#include "compiler/codegen/llvm/codegen.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/codegen/llvm/linker.h"
#include "compiler/codegen/llvm/streaming.h"
#include "compiler/codegen/llvm/target_machine.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

namespace hearth::codegen {
namespace {

// Keeps LLVM's errors as text instead of printing them and exiting.
class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string& errors_;
};

// One kernel on its way through LLVM.
class Compilation {
 public:
  static absl::StatusOr<std::unique_ptr<Compilation>> start(const passes::LinearKernel& kernel,
                                                            const v1::Target& target,
                                                            const v1::CompileOptions& options) {
    HEARTH_ASSIGN_OR_RETURN(TargetDescription description, describe_target(target, options));
    std::unique_ptr<Compilation> result(new Compilation(kernel, std::move(description)));
    absl::Status status = result->emit(target, options);
    if (!status.ok()) return status;
    return result;
  }

  llvm::Module& module() { return module_; }
  const llvm::Triple& triple() const { return target_.machine->getTargetTriple(); }

  void optimise(std::uint32_t level) {
    llvm::TargetMachine* machine = target_.machine.get();
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = true;
    tuning.SLPVectorization = true;
    tuning.LoopInterleaving = true;
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(machine, tuning);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    const llvm::OptimizationLevel pipeline = level == 1 ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O2;
    builder.buildPerModuleDefaultPipeline(pipeline).run(module_, modules);
  }

  absl::StatusOr<std::string> generate(llvm::CodeGenFileType kind) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (target_.machine->addPassesToEmitFile(passes, stream, nullptr, kind)) {
      return absl::InternalError("codegen: LLVM cannot write this kind of file for the target");
    }
    passes.run(module_);
    if (!errors_.empty()) return absl::InternalError(absl::StrCat("codegen: kernel ", kernel_.symbol, ": ", errors_));
    return std::string(bytes.begin(), bytes.end());
  }

 private:
  Compilation(const passes::LinearKernel& kernel, TargetDescription target)
      : kernel_(kernel), target_(std::move(target)), module_(kernel.symbol, context_) {
    context_.setDiagnosticHandler(std::make_unique<Diagnostics>(errors_));
    module_.setTargetTriple(target_.machine->getTargetTriple().str());
    module_.setDataLayout(target_.machine->createDataLayout());
    const llvm::Triple& triple = target_.machine->getTargetTriple();
    if (!triple.isNVPTX()) module_.setPICLevel(llvm::PICLevel::BigPIC);
    if (triple.isAMDGPU()) {  // of a generic name only version 6 speaks
      const std::uint32_t version = absl::EndsWith(target_.cpu, "-generic") ? 600 : 500;
      module_.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", version);
    }
  }

  absl::Status emit(const v1::Target& target, const v1::CompileOptions& options) {
    const target::Target facts(target);
    const bool has_vectors = facts.lanes(1) > 0;
    const std::optional<std::uint32_t> streamed = has_vectors ? streamed_slot(kernel_, target_.traits) : std::nullopt;
    Emitter emitter(kernel_, module_, {facts, target_.traits},
                    {.fast_math = options.fast_math(), .suffix = streamed ? ".cached" : "", .stream_slot = {}});
    HEARTH_RETURN_IF_ERROR(emitter.run());
    if (streamed) {
      Emitter streaming(kernel_, module_, {facts, target_.traits},
                        {.fast_math = options.fast_math(), .suffix = ".streaming", .stream_slot = streamed});
      HEARTH_RETURN_IF_ERROR(streaming.run());
      choose_at_entry(module_, kernel_.symbol, *streamed, streaming.function(), emitter.function());
    }
    for (llvm::Function& function : module_) {
      if (function.isDeclaration()) continue;
      function.addFnAttr("target-cpu", target_.cpu);
      if (!target_.tune_cpu.empty()) function.addFnAttr("tune-cpu", target_.tune_cpu);
      if (!target_.features.empty()) function.addFnAttr("target-features", target_.features);
      if (target.vector_bits() > 0) {
        function.addFnAttr("prefer-vector-width", absl::StrCat(target.vector_bits()));
        function.addFnAttr("min-legal-vector-width", "0");
      }
    }
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(module_, &stream)) {
      return absl::InternalError(absl::StrCat("codegen: kernel ", kernel_.symbol, ": invalid LLVM IR: ", message));
    }
    return absl::OkStatus();
  }

  const passes::LinearKernel& kernel_;
  TargetDescription target_;
  std::string errors_;
  llvm::LLVMContext context_;
  llvm::Module module_;
};

}  // namespace

absl::StatusOr<std::string> emit_llvm_ir(const passes::LinearKernel& kernel, const v1::Target& target,
                                         const v1::CompileOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(auto compilation, Compilation::start(kernel, target, options));
  std::string text;
  llvm::raw_string_ostream stream(text);
  compilation->module().print(stream, nullptr);
  return text;
}

absl::StatusOr<std::string> emit_assembly(const passes::LinearKernel& kernel, const v1::Target& target,
                                          const v1::CompileOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(auto compilation, Compilation::start(kernel, target, options));
  if (options.opt_level() > 0) compilation->optimise(options.opt_level());
  return compilation->generate(llvm::CodeGenFileType::AssemblyFile);
}

absl::StatusOr<v1::Artifact> compile(const passes::LinearKernel& kernel, const v1::Target& target,
                                     const v1::CompileOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(auto compilation, Compilation::start(kernel, target, options));
  if (options.opt_level() > 0) compilation->optimise(options.opt_level());
  const llvm::Triple triple = compilation->triple();
  v1::Artifact artifact;
  if (triple.isNVPTX()) {
    HEARTH_ASSIGN_OR_RETURN(*artifact.mutable_data(), compilation->generate(llvm::CodeGenFileType::AssemblyFile));
    artifact.set_format(v1::Artifact::PTX);
    return artifact;
  }
  HEARTH_ASSIGN_OR_RETURN(const std::string object, compilation->generate(llvm::CodeGenFileType::ObjectFile));
  HEARTH_ASSIGN_OR_RETURN(*artifact.mutable_data(), link_shared(object));
  artifact.set_format(triple.isAMDGPU() ? v1::Artifact::HSACO : v1::Artifact::ELF_SO);
  return artifact;
}

absl::StatusOr<std::string> compile_cpu(const passes::LinearKernel& kernel, const v1::Target& target,
                                        const v1::CompileOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(v1::Artifact artifact, compile(kernel, target, options));
  return std::move(*artifact.mutable_data());
}

}  // namespace hearth::codegen
