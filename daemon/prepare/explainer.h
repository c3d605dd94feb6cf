// Explainer: what Explain means, without gRPC: lower with dumps, tell what the cache had of it, then prepare the plan
// as Prepare does, so that what was compiled to be explained is kept. The passes, LLVM IR and assembly of kernels that
// were asked for come from compiling these once more, with dumps; same input, same code. Thread-safe; the callback
// comes once, on a daemon thread or before explain() returns. Errors: Preparer's; NOT_FOUND naming a kernel that the
// plan has not. Example:
//   auto job = explainer.explain(request, client, [](absl::StatusOr<v1::ExplainResponse> explained) { … });
//   job->cancel();
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <memory>

#include "daemon/prepare/preparer.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

class Explainer {
 public:
  using Done = std::function<void(absl::StatusOr<v1::ExplainResponse>)>;
  class Job {
   public:
    virtual ~Job() = default;
    virtual void cancel() = 0;
  };

  explicit Explainer(Preparer* preparer) : preparer_(preparer) {}

  std::shared_ptr<Job> explain(const v1::ExplainRequest& request, const ClientId& client, Done done);

 private:
  Preparer* const preparer_;
};

}  // namespace hearth::daemon
