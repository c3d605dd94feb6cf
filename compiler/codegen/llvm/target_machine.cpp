#include "compiler/codegen/llvm/target_machine.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/target/cpu_capabilities.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

// Declared by hand: these initialisers without the other back ends of InitializeAllTargets.
extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace hearth::codegen {
namespace {

void initialize_llvm_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

absl::Status check_features(const v1::Target& target, const llvm::MCSubtargetInfo& known) {
  auto all = known.getAllProcessorFeatures();
  for (const std::string& feature : target.features()) {
    bool found = std::any_of(all.begin(), all.end(), [&](const auto& entry) { return feature == entry.Key; });
    if (!found) {
      return absl::InvalidArgumentError(absl::StrCat("target.features: \"", feature, "\" is not an LLVM feature of ",
                                                     target.triple(),
                                                     "; give names as in `llc -mattr=help`, without + or -"));
    }
  }
  return absl::OkStatus();
}

// What is known of AMD's cores was measured on Zen 4: writing rows of softmax past the caches takes 0.59 and rows of a
// layernorm of 16 MiB 0.61 of the time of ordinary stores, asked for or not (Intel's cores wait for the few buffers
// that such stores share); vectors that were asked for arrive later than those that its own prefetchers find (gemv 1.2
// times). 16 MiB is half of an L3 of 32 MiB: with an operand of that size the rest is full.
constexpr std::int64_t kStreamedByAmd = std::int64_t{16} << 20;

bool is_gpu(const llvm::Triple& triple) { return triple.isNVPTX() || triple.isAMDGPU(); }

// All GPUs: kernels are scalar, and other invocations hide a wait. LLVM unrolls loops of 128 products whole,
// which ptxas has no registers for: eight keep as many loads in flight.
constexpr TargetTraits kGpuTraits = {.has_fma = true,
                                     .has_round = true,
                                     .has_half_convert = true,
                                     .prefetches = false,
                                     .chooses_addresses = false,
                                     .divides_narrow = true,
                                     .max_unrolled = 8};

TargetTraits traits_of(const llvm::Triple& triple, const llvm::MCSubtargetInfo& subtarget, const v1::Target& target) {
  const target::Target facts(target);
  if (is_gpu(triple)) return kGpuTraits;
  if (triple.isAArch64())
    return {.has_fma = true, .has_round = true, .has_half_convert = true, .vector_registers = facts.vector_registers()};
  const bool has_vl = subtarget.checkFeatures("+avx512vl");
  const unsigned avx_vnni_lanes = subtarget.checkFeatures("+avxvnni") ? 8 : 0;
  TargetTraits traits = {.has_fma = subtarget.checkFeatures("+fma"),
                         .has_round = subtarget.checkFeatures("+sse4.1"),
                         .has_half_convert = subtarget.checkFeatures("+f16c"),
                         .has_scaleb = facts.has_scaleb(),
                         .bf16_dot_lanes = has_vl && target::has_fast_bf16_dot(target) ? 16u : 0u,
                         .byte_dot_lanes = has_vl && subtarget.checkFeatures("+avx512vnni") ? 16u : avx_vnni_lanes,
                         .vector_registers = facts.vector_registers()};
  if (subtarget.checkFeatures("+avx") && !subtarget.checkFeatures("+avx512f")) traits.masked_load_bits = 256;
  if (subtarget.checkFeatures("+sse4a")) {  // which no other maker's processors have
    traits.least_streamed_bytes = kStreamedByAmd;
    traits.streams_rows = true;
    traits.prefetches_streams = false;
  }
  traits.prefetches = traits.chooses_addresses = facts.unit() == target::Unit::Share;
  return traits;
}

// The processor whose scheduling model fits the features best: only the order of instructions depends on it. The
// generic model hoists loads until wide register tiles spill.
std::string tuned_for(const llvm::Triple& triple, const v1::Target& target) {
  if (triple.isAArch64() || is_gpu(triple)) return "";
  auto has = [&](std::string_view feature) {
    return std::any_of(target.features().begin(), target.features().end(),
                       [&](const std::string& f) { return f == feature; });
  };
  if (has("amx-tile") || has("avx512fp16")) return "sapphirerapids";
  if (has("avx512bf16")) return "znver4";
  if (has("avx512f")) return "skylake-avx512";
  return has("avx2") ? "haswell" : "";
}

}  // namespace

absl::StatusOr<TargetDescription> describe_target(const v1::Target& target, const v1::CompileOptions& options) {
  initialize_llvm_once();
  llvm::Triple triple(llvm::Triple::normalize(target.triple()));
  const bool is_processor = (triple.getArch() == llvm::Triple::x86_64 || triple.getArch() == llvm::Triple::aarch64) &&
                            triple.isOSLinux() && triple.isOSBinFormatELF();
  if (!is_processor && !is_gpu(triple)) {
    return absl::InvalidArgumentError(absl::StrCat("target.triple: \"", target.triple(),
                                                   "\" is not supported; give x86_64-unknown-linux-gnu, "
                                                   "aarch64-unknown-linux-gnu, nvptx64-nvidia-cuda or "
                                                   "amdgcn-amd-amdhsa"));
  }
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!backend) return absl::InvalidArgumentError(absl::StrCat("target.triple: \"", target.triple(), "\": ", error));

  TargetDescription result;
  result.cpu = is_gpu(triple) ? target.arch() : triple.isAArch64() ? "generic" : "x86-64";
  std::unique_ptr<llvm::MCSubtargetInfo> baseline(backend->createMCSubtargetInfo(triple.str(), result.cpu, ""));
  // LLVM itself goes on with a generic processor.
  if (!baseline->isCPUStringValid(result.cpu))
    return absl::InvalidArgumentError(absl::StrCat("target.arch: LLVM has no \"", result.cpu, "\" of ", triple.str()));
  HEARTH_RETURN_IF_ERROR(check_features(target, *baseline));
  result.features = absl::StrJoin(
      target.features(), ",", [](std::string* out, const std::string& feature) { absl::StrAppend(out, "+", feature); });

  llvm::TargetOptions llvm_options;
  llvm_options.TrapUnreachable = false;
  auto level = options.opt_level() == 0   ? llvm::CodeGenOptLevel::None
               : options.opt_level() == 1 ? llvm::CodeGenOptLevel::Less
                                          : llvm::CodeGenOptLevel::Default;
  result.machine.reset(backend->createTargetMachine(triple.str(), result.cpu, result.features, llvm_options,
                                                    llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  if (!result.machine) {
    return absl::InvalidArgumentError(
        absl::StrCat("target.triple: LLVM has no code generator for \"", target.triple(), "\""));
  }
  result.tune_cpu = tuned_for(triple, target);
  result.traits = traits_of(triple, *result.machine->getMCSubtargetInfo(), target);
  return result;
}

}  // namespace hearth::codegen
