#include "tests/digests/digests.h"

#include "base/sha256.h"
#include "compiler/compile.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/devices/named_target.h"

namespace hearth::digests {
namespace {

std::string bytes_of(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

std::string digest_of(const std::string& bytes) { return to_hex(sha256(bytes)).substr(0, 16); }

}  // namespace

std::vector<v1::Target> fixed_targets() {
  return {*runtime::named_target("cpu:armv8.2-a"), *runtime::named_target("cpu:x86-64-v3"),
          *runtime::named_target("cpu:x86-64-v4")};
}

absl::StatusOr<std::string> digests_of(const v1::Graph& graph, const std::vector<v1::Target>& targets) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  std::string text;
  for (const v1::Target& target : targets) {
    absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(graph, target, options);
    if (!lowered.ok()) return lowered.status();
    lowered->clear_tuning_reads();  // no part of what is run
    std::string artifacts;
    for (const v1::KernelSpec& kernel : lowered->kernels()) {
      const absl::StatusOr<v1::CompiledKernel> compiled = compiler::compile_kernel(kernel, target, options);
      if (!compiled.ok()) {
        return absl::Status(compiled.status().code(), target.triple() + ", " + std::to_string(target.vector_bits()) +
                                                          " bits: " + compiled.status().ToString() + "\n" +
                                                          kernel.ast());
      }
      artifacts += digest_of(bytes_of(compiled->artifact()));
    }
    text += (text.empty() ? "" : " ") + digest_of(bytes_of(*lowered)) + ":" + digest_of(artifacts);
  }
  return text;
}

absl::StatusOr<std::string> texts_of(const v1::Graph& graph, const v1::Target& target) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(graph, target, options);
  if (!lowered.ok()) return lowered.status();
  options.set_dump(true);
  std::string text;
  for (const v1::KernelSpec& kernel : lowered->kernels()) {
    const absl::StatusOr<v1::CompiledKernel> compiled = compiler::compile_kernel(kernel, target, options);
    if (!compiled.ok()) {
      text += kernel.symbol() + ", which is not compiled: " + compiled.status().ToString() + "\n" + kernel.ast() + "\n";
      continue;
    }
    for (const v1::PassReport& pass : compiled->passes())
      text += kernel.symbol() + ", after " + pass.name() + ":\n" + pass.text() + "\n";
  }
  return text;
}

std::string llvm_version() { return HEARTH_LLVM_VERSION; }

}  // namespace hearth::digests
