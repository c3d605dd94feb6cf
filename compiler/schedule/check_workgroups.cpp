#include "compiler/schedule/check_workgroups.h"

#include <map>
#include <numeric>

#include "compiler/schedule/kernel_facts.h"
#include "fmt/format.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;
using Kind = Opt::Kind;

absl::Status refuse(const Opt& opt, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("opt {}: {}", to_string(opt), why));
}

// By axis, what the length of the loop that is left is known to be a multiple of.
class Multiples {
 public:
  explicit Multiples(UOpRef flat) {
    for (UOpRef store : flat->sources) {
      for (std::size_t i = 2; i < store->sources.size(); ++i) {
        UOpRef range = store->source(i);
        std::int64_t known = 1;
        while (known < kMost && KernelFacts::is_multiple(range, 2 * known)) known *= 2;
        if (range->source(0)->is_const()) known = range->source(0)->int_value();
        of_[range->as<ir::RangeInfo>().axis] = known;
      }
    }
  }

  bool is_output(std::uint32_t axis) const { return of_.contains(axis); }
  // False: the opt divides what is no multiple.
  bool divide(const Opt& opt) {
    std::int64_t& known = of_.at(opt.axis);
    switch (opt.kind) {
      case Kind::PadTo:
        known = opt.amount;
        return true;
      case Kind::Tile:
        known = known % opt.amount == 0 ? opt.amount : 1;
        return true;
      default: {
        const bool divides = known % opt.amount == 0;
        known = divides ? known / opt.amount : 1;
        return divides;
      }
    }
  }

 private:
  static constexpr std::int64_t kMost = 1 << 12;
  std::map<std::uint32_t, std::int64_t> of_;
};

}  // namespace

absl::Status check_workgroups(UOpRef flat, const std::vector<Opt>& opts, const target::Target& target) {
  Multiples multiples(flat);
  std::int64_t invocations = 1;
  for (const Opt& opt : opts) {
    const bool is_of_workgroups = opt.kind == Kind::Workgroup || opt.kind == Kind::Shared || opt.kind == Kind::Matrix;
    if (is_of_workgroups && target.unit() != target::Unit::Invocation)
      return refuse(opt, "is for GPUs, whose kernels have workgroups");
    if (opt.kind == Kind::Matrix) invocations *= std::max<std::int64_t>(1, target.subgroup_size());
    if (opt.amount < 1 || !multiples.is_output(opt.axis)) {
      if (opt.kind == Kind::Workgroup && opt.amount > target.max_workgroup())
        return refuse(opt, fmt::format("the target's workgroups have at most {} invocations", target.max_workgroup()));
      continue;
    }
    if (opt.kind != Kind::PadTo && opt.kind != Kind::Tile && opt.kind != Kind::Unroll && opt.kind != Kind::Spread &&
        opt.kind != Kind::Workgroup)
      continue;
    const bool divides = multiples.divide(opt);
    if (opt.kind != Kind::Workgroup) continue;
    if (!divides) return refuse(opt, "the axis is no multiple of the workgroup: PAD_TO first");
    invocations *= opt.amount;
    if (invocations > target.max_workgroup())
      return refuse(opt, fmt::format("the target's workgroups have at most {} invocations", target.max_workgroup()));
  }
  return absl::OkStatus();
}

}  // namespace hearth::schedule
