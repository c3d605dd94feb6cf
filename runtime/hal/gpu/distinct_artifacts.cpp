#include "runtime/hal/gpu/distinct_artifacts.h"

#include <map>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::runtime {

absl::Status of_kernel(const Plan& plan, std::size_t kernel, const absl::Status& status) {
  return absl::Status(status.code(), str_cat("kernel '", plan.kernels[kernel].symbol, "': ", status.message()));
}

absl::StatusOr<DistinctArtifacts> DistinctArtifacts::read(const Plan& plan,
                                                          const std::vector<ArtifactSource>& artifacts) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<const ArtifactSource*> sources, sources_of(plan, artifacts));
  DistinctArtifacts all;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const auto [place, is_new] = known.try_emplace(plan.kernels[i].artifact, all.codes.size());
    all.place.push_back(place->second);
    if (!is_new) continue;
    absl::StatusOr<ArtifactBytes> code = read_artifact(*sources[i]);
    if (!code.ok()) return of_kernel(plan, i, code.status());
    all.first_kernels.push_back(i);
    all.codes.push_back(std::move(code->bytes));
  }
  return all;
}

}  // namespace hearth::runtime
