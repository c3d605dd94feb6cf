// BlobToolchains: which compiler makes blobs of a kind, asked of a blob worker once and remembered while the compiler's
// file stays as it is. Thread-safe. Errors: the worker's (NOT_FOUND: no compiler, with the package that has it), which
// are not remembered. Example:
//   ticket = toolchains.find("c++", client, [](const BlobToolchains::Outcome& toolchain) { use((*toolchain)->digest());
//   });
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/file_stamp.h"
#include "daemon/async/single_flight.h"
#include "daemon/worker_pool/worker_pool.h"
#include "hearth/v1/blob.pb.h"

namespace hearth::daemon {

class BlobToolchains {
 public:
  struct NoProgress {};
  using Flights = SingleFlight<v1::ToolchainInfo, NoProgress>;
  using Outcome = Flights::Outcome;

  explicit BlobToolchains(WorkerPool* pool) : pool_(pool) {}

  // `done` runs before this returns when the answer is known, else on a pool thread; not at all once the ticket is
  // left.
  Flights::Ticket find(const std::string& kind, const ClientId& client, std::function<void(const Outcome&)> done);
  // The next find() asks again.
  void forget(const std::string& kind);

 private:
  struct Known {
    files::FileStamp stamp;
    std::shared_ptr<const v1::ToolchainInfo> info;
  };
  void ask(const std::string& kind, const ClientId& client, std::shared_ptr<Flights::Flight> flight);
  void remember(const std::string& kind, const std::shared_ptr<const v1::ToolchainInfo>& info);

  WorkerPool* const pool_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
  Flights flights_;
};

}  // namespace hearth::daemon
