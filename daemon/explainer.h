// Explainer: what Explain means, without gRPC: lower once more with dumps and tell what the cache has of it. Kernels
// that are not cached are compiled for their sizes and pass times; nothing is stored. Thread-safe; the callback comes
// once, on a daemon thread or before explain() returns. Example:
//   auto job = explainer.explain(request, [](absl::StatusOr<v1::ExplainResponse> explained) { … });
//   job->cancel();
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <memory>

#include "daemon/preparer.h"
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

  explicit Explainer(const Preparer* preparer) : preparer_(preparer) {}

  std::shared_ptr<Job> explain(const v1::ExplainRequest& request, Done done);

 private:
  const Preparer* const preparer_;
};

}  // namespace hearth::daemon
