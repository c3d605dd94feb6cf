#include "client/cli/coverage_receipt.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "client/cli/format.h"
#include "client/cli/print.h"
#include "runtime/build_id.h"

namespace hearth::cli {

using Json = nlohmann::ordered_json;

struct CoverageReceipt::Rows {
  nlohmann::ordered_json covered = nlohmann::ordered_json::array();
  nlohmann::ordered_json missing = nlohmann::ordered_json::array();
};

CoverageReceipt::CoverageReceipt() : rows_(std::make_unique<Rows>()) {}
CoverageReceipt::~CoverageReceipt() = default;

void CoverageReceipt::cover(const CoveredPlan& plan) {
  const absl::StatusOr<std::string> file = runtime::read_file(plan.path);
  const v1::Target& target = plan.target;
  Json json = {{"model", plan.path},
               {"sha256", file.ok() ? to_hex(sha256(*file)) : std::string()},
               {"plan_key", hex(plan.stats.plan_key)},
               {"target",
                {{"device", target.device()},
                 {"triple", target.triple()},
                 {"arch", target.arch()},
                 {"features", std::vector<std::string>(target.features().begin(), target.features().end())},
                 {"vector_bits", target.vector_bits()}}},
               {"threads", target.threads()},
               {"dims", plan.dims},
               {"consts", plan.consts},
               {"weights", plan.weights},
               {"opt_level", plan.config.opt_level},
               {"fast_math", plan.config.fast_math},
               {"direct_convolutions", plan.config.direct_convolutions},
               {"kernels", plan.stats.kernels},
               {"compiled_kernels", plan.stats.compiled_kernels}};
  for (const client::Carried& carried : plan.config.carried)
    json["carried"].push_back({{"output", carried.output}, {"input", carried.input}});
  const std::lock_guard lock(mutex_);
  rows_->covered.push_back(std::move(json));
}

void CoverageReceipt::came_from(const std::map<std::string, v1::ImportedPack>& packs) {
  const std::lock_guard lock(mutex_);
  for (const auto& [plan, pack] : packs) {
    for (Json& row : rows_->covered) {
      if (row["plan_key"] == hex(plan)) row["pack"] = {{"name", pack.name()}, {"sha256", hex(pack.sha256())}};
    }
  }
}

void CoverageReceipt::miss(const std::string& path, const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  rows_->missing.push_back({{"model", path}, {"error", std::string(why.message())}});
}

absl::Status CoverageReceipt::write(const std::string& path, std::size_t models) const {
  const std::lock_guard lock(mutex_);
  const Json receipt = {{"receipt", 1},
                        {"version", HEARTH_VERSION},
                        {"build_id", std::string(build_id())},
                        {"models", models},
                        {"complete", rows_->missing.empty()},
                        {"covered", rows_->covered},
                        {"missing", rows_->missing}};
  const std::string text = receipt.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
  if (path == "-") {
    print_lines(text);
    return absl::OkStatus();
  }
  return runtime::write_file(path, {text});
}

}  // namespace hearth::cli
