#include "compiler/schedule/opts_proto.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"

namespace hearth::schedule {
namespace {

using ir::Op;
using ir::UOpRef;
using Kind = Opt::Kind;

constexpr int kMaxOpts = 64;
constexpr std::int64_t kMaxTile = 1 << 20, kMaxPadding = 1024, kMaxLanes = 64, kMaxCopies = 4096, kMaxWorkgroup = 1024;

// Kinds in the order of Opt::Kind.
constexpr v1::Opt::Kind kWireKinds[] = {v1::Opt::TILE,   v1::Opt::LANES,     v1::Opt::MASKED, v1::Opt::PAD_TO,
                                        v1::Opt::UNROLL, v1::Opt::SPREAD,    v1::Opt::DOT,    v1::Opt::SPLIT,
                                        v1::Opt::BEFORE, v1::Opt::WORKGROUP, v1::Opt::SHARED, v1::Opt::MATRIX,
                                        v1::Opt::PACK};

absl::Status refuse(const Opt& opt, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("opt {}: {}", to_string(opt), why));
}

// What opts may name in a flat kernel.
struct Names {
  explicit Names(UOpRef flat) {
    for (UOpRef x : toposort(flat)) {
      if (x->is(Op::Param) && x->as<ir::ParamInfo>().slot != 0) params[x->as<ir::ParamInfo>().slot] = x;
      if (x->is(Op::Range)) axes[x->as<ir::RangeInfo>().axis] = x;
    }
  }
  UOpRef axis(std::int64_t id) const {
    auto found = id < 0 || id > UINT32_MAX ? axes.end() : axes.find(static_cast<std::uint32_t>(id));
    return found == axes.end() ? nullptr : found->second;
  }
  std::map<std::uint32_t, UOpRef> params, axes;
};

bool makes_copies(Kind kind) { return kind == Kind::Unroll || kind == Kind::Spread; }

bool is_reduce(UOpRef range) { return range->as<ir::RangeInfo>().kind == ir::RangeKind::Reduce; }

}  // namespace

OptProtos to_proto(const std::vector<Opt>& opts) {
  OptProtos out;
  for (const Opt& opt : opts) {
    v1::Opt& wire = *out.Add();
    wire.set_kind(kWireKinds[static_cast<int>(opt.kind)]);
    wire.set_axis(opt.axis);
    wire.set_amount(opt.amount);
  }
  return out;
}

absl::StatusOr<std::vector<Opt>> from_proto(const OptProtos& wire) {
  if (wire.size() > kMaxOpts)
    return absl::InvalidArgumentError(fmt::format("{} opts; at most {} are taken", wire.size(), kMaxOpts));
  std::vector<Opt> opts;
  for (const v1::Opt& opt : wire) {
    const auto kind = std::ranges::find(kWireKinds, opt.kind());
    if (kind == std::end(kWireKinds))
      return absl::InvalidArgumentError(fmt::format("unknown kind of opt {}", static_cast<int>(opt.kind())));
    opts.push_back({static_cast<Kind>(kind - std::begin(kWireKinds)), opt.axis(), opt.amount()});
  }
  return opts;
}

absl::Status check_opts(UOpRef flat, const std::vector<Opt>& opts) {
  const Names names(flat);
  for (const Opt& opt : opts) {
    if (opt.kind == Kind::Pack) {
      if (!names.params.contains(opt.axis)) return refuse(opt, "the kernel reads no such param");
      continue;
    }
    UOpRef range = names.axis(opt.axis);
    if (!range) return refuse(opt, "the kernel has no such axis");
    if (opt.kind == Kind::Before) {
      UOpRef place = names.axis(opt.amount);
      if (!place || place == range || is_reduce(place) || is_reduce(range)) return refuse(opt, "needs two output axes");
      continue;
    }
    const std::int64_t most = makes_copies(opt.kind)        ? kMaxCopies
                              : opt.kind == Kind::Tile      ? kMaxTile
                              : opt.kind == Kind::PadTo     ? kMaxPadding
                              : opt.kind == Kind::Split     ? range->source(0)->bounds.max - 1
                              : opt.kind == Kind::Workgroup ? kMaxWorkgroup
                                                            : kMaxLanes;
    const std::int64_t least = opt.kind == Kind::Split || opt.kind == Kind::Shared ? 1 : 2;
    if (opt.amount < least || opt.amount > most)
      return refuse(opt, fmt::format("the amount must be from {} to {}", least, most));
    if (is_reduce(range) &&
        (opt.kind == Kind::Tile || opt.kind == Kind::PadTo || opt.kind == Kind::Masked || opt.kind == Kind::Spread))
      return refuse(opt, "is for output axes");
    const bool is_of_sums = opt.kind == Kind::Dot || opt.kind == Kind::Shared || opt.kind == Kind::Matrix;
    if (!is_reduce(range) && is_of_sums) return refuse(opt, "is for reduced axes");
    if (opt.kind == Kind::Split && !range->source(0)->is_const()) return refuse(opt, "is for axes of constant length");
    if (opt.kind == Kind::Split && ir::is_range(range, ir::RangeKind::Grid))
      return refuse(opt, "is not for the axis that threads divide");
  }
  if (num_copies(flat, opts) > kMaxCopies)
    return absl::InvalidArgumentError(fmt::format("opts {}: more than {} copies in all", to_string(opts), kMaxCopies));
  return absl::OkStatus();
}

std::int64_t num_copies(UOpRef flat, const std::vector<Opt>& opts) {
  std::int64_t most = 1;
  for (UOpRef store : flat->sources) {
    const Names names(store);
    std::int64_t copies = 1;
    for (const Opt& opt : opts) {
      // Amounts are not checked yet.
      if (makes_copies(opt.kind) && names.axis(opt.axis))
        copies = std::min<std::int64_t>(copies * std::clamp<std::int64_t>(opt.amount, 1, kMaxCopies), 1 << 30);
    }
    most = std::max(most, copies);
  }
  return most;
}

std::string to_string(const std::vector<Opt>& opts) {
  std::string text;
  for (const Opt& opt : opts) text += (text.empty() ? "" : " ") + to_string(opt);
  return text;
}

}  // namespace hearth::schedule
