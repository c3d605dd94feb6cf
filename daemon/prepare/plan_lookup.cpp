// Under which keys a plan may be stored, and which stored plan is right.
#include <sys/types.h>
#include <unistd.h>

#include <utility>

#include "daemon/prepare/plan_build.h"
#include "daemon/prepare/preparer.h"
#include "daemon/prepare/remote_tier.h"

namespace hearth::daemon {

namespace {

bool sends_private(const BuildServices& services) {
  return services.remote != nullptr && services.remote->sends_private();
}

}  // namespace

PlanInputs plan_inputs(const BuildServices& services, const v1::Graph& graph, const v1::Target& target,
                       const v1::CompileOptions& options, uid_t user, bool with_libraries) {
  PlanInputs inputs;
  inputs.tuning = services.tuning->snapshot(target, options);
  if (with_libraries) inputs.libraries = services.blob_libraries->for_graph(graph);
  cache::KeyMaterial everybodys =
      cache::plan_key_material(graph, target, options, services.build_id, key_of(inputs.libraries));
  if (services.ptx->makes(target)) everybodys.add("ptxas", services.ptx->identity());
  if (services.key_namespace.is_own_plan(graph, user)) {
    cache::KeyMaterial own = everybodys;
    KeyNamespace::add(own, user);
    inputs.materials.push_back(std::move(own));
  }
  inputs.materials.push_back(std::move(everybodys));
  // Which blobs a plan takes depends on this node's files.
  inputs.is_private = !inputs.libraries.empty() || services.key_namespace.is_private(user) ||
                      (KeyNamespace::has_data(graph) && !sends_private(services));
  return inputs;
}

std::optional<FoundPlan> find_recent_plan(const BuildServices& services, const PlanInputs& inputs) {
  for (const cache::KeyMaterial& base : inputs.materials) {
    const std::optional<std::string> tuning = services.plan_reads->find_recent(base, *inputs.tuning);
    if (!tuning) continue;
    const cache::KeyMaterial material = cache::with_tuning(base, *tuning);
    if (std::optional<PlanResult> plan = services.store->find_recent_plan(material))
      return FoundPlan{cache::key(material), *std::move(plan)};
  }
  return std::nullopt;
}

std::optional<FoundPlan> find_plan(const BuildServices& services, const PlanInputs& inputs) {
  for (const cache::KeyMaterial& base : inputs.materials) {
    const std::optional<std::string> tuning = services.plan_reads->find(base, *inputs.tuning);
    if (!tuning) continue;
    const cache::KeyMaterial material = cache::with_tuning(base, *tuning);
    if (std::optional<PlanResult> plan = services.store->find_plan(material))
      return FoundPlan{cache::key(material), *std::move(plan)};
  }
  return std::nullopt;
}

std::optional<FoundPlan> find_plan_of_any_tuning(const BuildServices& services, const PlanInputs& inputs) {
  if (std::optional<FoundPlan> newest = find_plan(services, inputs)) return newest;
  for (const cache::KeyMaterial& base : inputs.materials) {
    for (const std::string& tuning : services.plan_reads->all(base)) {
      const cache::KeyMaterial material = cache::with_tuning(base, tuning);
      if (std::optional<PlanResult> plan = services.store->find_plan(material))
        return FoundPlan{cache::key(material), *std::move(plan)};
    }
  }
  return std::nullopt;
}

std::optional<cache::MissExplanation> explain_miss(const BuildServices& services, const PlanInputs& inputs) {
  std::optional<cache::MissExplanation> nearest;
  for (const cache::KeyMaterial& base : inputs.materials) {
    std::optional<cache::MissExplanation> found =
        services.store->explain_miss(cache::with_tuning(base, inputs.tuning->digest));
    if (!found || is_of_another_user(*found)) continue;
    if (!nearest || found->differing.size() < nearest->differing.size()) nearest = std::move(found);
  }
  return nearest;
}

}  // namespace hearth::daemon
