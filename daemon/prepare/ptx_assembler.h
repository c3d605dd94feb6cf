// PtxAssembler: where this daemon makes cubins of kernels for NVIDIA's GPUs by ptxas, in a worker of the class that starts
// programs, so that no process that loads them compiles PTX. Which ptxas it was is part of their keys. Thread-safe.
//
//   if (assembler.makes(target)) material.add("ptxas", assembler.identity());
//   assembler.assemble({.symbol = "k", .ptx = ptx, .arch = "sm_90a"}, client, done);
#pragma once
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_digest/file_digest_cache.h"
#include "daemon/worker_pool/worker_pool.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::daemon {

class PtxAssembler {
 public:
  // `program`: absolute path; empty: there is none, and PTX is what kernels are. `pool`: of the blob class.
  PtxAssembler(std::string program, WorkerPool* pool) : program_(std::move(program)), pool_(pool) {}

  bool makes(const v1::Target& target) const;
  // The digest of its file, hexadecimal, as it is now; empty where it cannot be read, which assembling then says.
  std::string identity() const;

  struct Kernel {
    std::string symbol, ptx, arch;
  };
  // `done` is called once, with the artifact, unless cancelled; the number is for WorkerPool::cancel.
  absl::StatusOr<std::uint64_t> assemble(Kernel kernel, const ClientId& client,
                                         std::function<void(absl::StatusOr<v1::Artifact>)> done) const;
  void cancel(std::uint64_t job) const { pool_->cancel(job); }
  void share(std::uint64_t job, const ClientId& client) const { pool_->share(job, client); }

 private:
  const std::string program_;
  WorkerPool* const pool_;
  mutable files::FileDigestCache files_;
};

}  // namespace hearth::daemon
