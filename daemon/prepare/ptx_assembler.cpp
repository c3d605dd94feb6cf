#include "daemon/prepare/ptx_assembler.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace hearth::daemon {

bool PtxAssembler::makes(const v1::Target& target) const {
  return !program_.empty() && target.triple() == "nvptx64-nvidia-cuda";
}

std::string PtxAssembler::identity() const {
  const absl::StatusOr<Digest> digest = files_.digest(program_);
  return digest.ok() ? to_hex(*digest) : std::string();
}

absl::StatusOr<std::uint64_t> PtxAssembler::assemble(Kernel kernel, const ClientId& client,
                                                     std::function<void(absl::StatusOr<v1::Artifact>)> done) const {
  CompileJob job;
  job.client = client;
  job.what = absl::StrCat("ptxas for kernel '", kernel.symbol, "'");
  job.key = sha256(identity());
  v1::AssembleSpec& spec = *job.request.mutable_assemble();
  spec.set_symbol(std::move(kernel.symbol));
  spec.set_ptx(std::move(kernel.ptx));
  spec.set_arch(std::move(kernel.arch));
  spec.set_program(program_);
  job.done = [done = std::move(done)](absl::StatusOr<v1::WorkerReply> reply) {
    if (!reply.ok()) return done(reply.status());
    done(std::move(*reply->mutable_assembled()));
  };
  return pool_->submit(std::move(job));
}

}  // namespace hearth::daemon
