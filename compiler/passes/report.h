// PassLog: one line a pass (name, time, node count, text on demand) and the spec check after it.
//
//   HEARTH_PASS(fuse, Level::Ranged, fuse(g, root));
//
// A list that many things take, such as a graph's kernels, is one line a pass, summed, named as parts of a step.
#pragma once
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status_macros.h"
#include "compiler/ir/text.h"
#include "compiler/passes/spec.h"
#include "google/protobuf/repeated_field.h"
#include "hearth/v1/worker.pb.h"

// One line of the pipeline: `root` becomes the pass's result, checked and logged; uses the locals `root` and `log`.
#define HEARTH_PASS(name, level, ...) HEARTH_ASSIGN_OR_RETURN(root, log.run(#name, level, [&] { return __VA_ARGS__; }))

namespace hearth::passes {

class PassLog {
 public:
  using Reports = google::protobuf::RepeatedPtrField<v1::PassReport>;
  // `dump`: keep texts. Borrowed pointer: must outlive the log.
  PassLog(Reports* reports, bool dump) : reports_(reports), dump_(dump) {}

  // A log whose passes are "step/pass" and add up; without texts. Unless texts are kept at all, the spec is checked
  // where the level changes, not after every pass: that took 4 % of lowering.
  PassLog summed(std::string step) const {
    PassLog log(reports_, dump_);
    log.step_ = std::move(step) + "/";
    log.first_ = reports_->size();
    return log;
  }

  // Runs a pass that gives a UOpRef or StatusOr<UOpRef>, checks its result, records it.
  template <class F>
  absl::StatusOr<ir::UOpRef> run(std::string_view name, Level level, F pass) {
    auto begin = std::chrono::steady_clock::now();
    absl::StatusOr<ir::UOpRef> result = pass();
    // A summed log is checked once a level: the next level's check sees what a pass between did wrong.
    if (result.ok() && (step_.empty() || dump_ || level != level_)) {
      if (absl::Status legal = check(level, name, *result); !legal.ok()) result = legal;
    }
    level_ = level;
    if (result.ok()) record(name, begin, *result);
    return result;
  }

  // Any other step: only timed.
  template <class F>
  auto time(std::string_view name, F step) {
    auto begin = std::chrono::steady_clock::now();
    auto result = step();
    record(name, begin, nullptr);
    return result;
  }

  // A part of the step recorded last, timed by itself.
  void part(std::string_view name, std::int64_t time_ns, std::uint64_t num_nodes, std::string text) {
    v1::PassReport& report = *reports_->Add();
    report.set_name(std::string(name));
    report.set_time_ns(time_ns);
    report.set_num_nodes(static_cast<std::uint32_t>(num_nodes));
    if (dump_) report.set_text(std::move(text));
  }

  // Adds text to the last record.
  void attach(std::string text) {
    if (dump_ && !reports_->empty()) *reports_->rbegin()->mutable_text() += text;
  }
  bool dump() const { return dump_; }

 private:
  void record(std::string_view name, std::chrono::steady_clock::time_point begin, ir::UOpRef root) {
    v1::PassReport& report = report_of(name);
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    report.set_time_ns(report.time_ns() + took.count());
    if (step_.empty())
      report.set_start_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(begin.time_since_epoch()).count()));
    if (!root || !dump_) return;  // counting nodes takes longer than many a pass
    report.set_num_nodes(report.num_nodes() + static_cast<std::uint32_t>(ir::toposort(root).size()));
    if (step_.empty()) report.set_text(ir::print(root));
  }

  v1::PassReport& report_of(std::string_view name) {
    for (int i = first_; !step_.empty() && i < reports_->size(); ++i) {
      v1::PassReport& report = *reports_->Mutable(i);
      if (std::string_view(report.name()).substr(std::min(step_.size(), report.name().size())) == name) return report;
    }
    v1::PassReport& report = *reports_->Add();
    report.set_name(step_ + std::string(name));
    return report;
  }

  Reports* reports_;
  bool dump_;
  std::string step_;             // of a summed log
  Level level_ = Level::Tensor;  // of the pass before
  int first_ = 0;                // its first report
};

}  // namespace hearth::passes
