// Records: there and back, what makes no sense is left out, and whatever a damaged one says, the kernel stays right.
#include "compiler/schedule/records.h"

#include <google/protobuf/util/json_util.h>

#include "compiler/passes/kernel/choose_opts.h"
#include "compiler/schedule/flat_kernel.h"
#include "fmt/format.h"
#include "tests/unit/schedule/product.h"

namespace hearth {
namespace {

const std::vector<Opt> kAllKinds = {{Opt::Kind::Tile, 0, 8},   {Opt::Kind::PadTo, 1, 4},  {Opt::Kind::Lanes, 1, 4},
                                    {Opt::Kind::Masked, 1, 4}, {Opt::Kind::Unroll, 2, 3}, {Opt::Kind::Before, 1, 0},
                                    {Opt::Kind::Pack, 2, 1},   {Opt::Kind::Spread, 1, 4}};

// The product's flat kernel with other numbers for its axes and params.
UOpRef renumbered(ir::Graph& g, UOpRef kernel) {
  std::vector<std::pair<UOpRef, UOpRef>> map;
  for (UOpRef x : toposort(kernel)) {
    if (x->is(Op::Range)) {
      const auto& info = x->as<ir::RangeInfo>();
      map.emplace_back(x, g.range(x->source(0), 40 - info.axis, info.kind));
    } else if (x->is(Op::Param) && x->as<ir::ParamInfo>().slot != 0) {
      map.emplace_back(x, g.make(Op::Param, x->dtype, {}, ir::ParamInfo{x->as<ir::ParamInfo>().slot + 5}));
    }
  }
  return substitute(g, kernel, map);
}

}  // namespace

TEST_CASE("opts of every kind go over the wire and come back") {
  const auto wire = schedule::to_proto(kAllKinds);
  const auto back = schedule::from_proto(wire);
  REQUIRE(back.ok());
  REQUIRE(back->size() == kAllKinds.size());
  for (std::size_t i = 0; i < back->size(); ++i) {
    CHECK((*back)[i].kind == kAllKinds[i].kind);
    CHECK((*back)[i].axis == kAllKinds[i].axis);
    CHECK((*back)[i].amount == kAllKinds[i].amount);
  }
  const Opt workgroup{Opt::Kind::Workgroup, 2, 8};
  CHECK(schedule::from_proto(schedule::to_proto({workgroup}))->front().kind == workgroup.kind);
  schedule::OptProtos unknown = wire;
  unknown.Mutable(0)->set_kind(static_cast<v1::Opt::Kind>(1000));
  CHECK(absl::IsInvalidArgument(schedule::from_proto(unknown).status()));
  schedule::OptProtos many;
  for (int i = 0; i < 100; ++i) *many.Add() = wire.Get(4);
  CHECK(absl::IsInvalidArgument(schedule::from_proto(many).status()));
}

TEST_CASE("a hand-written record with an opt's old name is refused by that name") {
  v1::TuningRecord record;
  for (const char* old : {"BLOCK", "GROUP"}) {
    const auto status = google::protobuf::util::JsonStringToMessage(
        fmt::format(R"({{"opts": [{{"kind": "{}", "axis": 0, "amount": 8}}]}})", old), &record);
    CHECK_FALSE(status.ok());
    CHECK(status.ToString().find(old) != std::string::npos);
    CHECK_FALSE(schedule::kind_named(old));
  }
  for (const Opt& opt : kAllKinds) CHECK(schedule::kind_named(schedule::name_of(opt.kind)) == opt.kind);
}

TEST_CASE("what an opt names must be there, and its amount must leave sensible code") {
  ir::Graph g;
  UOpRef flat = kernel_of(g, {13, 9, 11, false, false});
  CHECK(schedule::check_opts(flat, {}).ok());
  CHECK(schedule::check_opts(flat, kAllKinds).ok());
  using Kind = Opt::Kind;
  for (const std::vector<Opt>& bad : {std::vector<Opt>{{Kind::Unroll, 3, 2}},
                                      {{Kind::Unroll, 0, 1}},
                                      {{Kind::Lanes, 0, 1 << 20}},
                                      {{Kind::Unroll, 0, 64}, {Kind::Unroll, 1, 64}, {Kind::Unroll, 2, 2}},
                                      {{Kind::PadTo, 0, 1 << 30}},
                                      {{Kind::PadTo, 2, 4}},
                                      {{Kind::Split, 0, 0}},
                                      {{Kind::Split, 0, 13}},
                                      {{Kind::Masked, 2, 4}},
                                      {{Kind::Tile, 2, 4}},
                                      {{Kind::Before, 2, 0}},
                                      {{Kind::Before, 0, 2}},
                                      {{Kind::Before, 0, 0}},
                                      {{Kind::Before, 0, -3}},
                                      {{Kind::Workgroup, 0, 1 << 20}},
                                      {{Kind::Shared, 0, 4}},
                                      {{Kind::Pack, 0, 1}},
                                      {{Kind::Pack, 3, 1}}}) {
    INFO(schedule::to_string(bad));
    CHECK(absl::IsInvalidArgument(schedule::check_opts(flat, bad)));
  }
}

TEST_CASE("equal kernels with other numbers have one digest; opts are translated between them") {
  ir::Graph g;
  UOpRef kernel = kernel_of(g, {13, 9, 11, false, true}), other = renumbered(g, kernel);
  REQUIRE(kernel != other);
  const std::vector<schedule::SlotFacts> facts = {{}, {false, true}, {true, true}};
  std::vector<schedule::SlotFacts> moved(8);
  moved[6] = facts[1];
  moved[7] = facts[2];
  const schedule::FlatKernel one(g, kernel, facts, true), two(g, other, moved, true);
  CHECK(one.digest() == two.digest());
  CHECK(one.wire().SerializeAsString() == two.wire().SerializeAsString());
  const std::vector<Opt> own = {{Opt::Kind::Unroll, 40, 2}, {Opt::Kind::Before, 39, 40}, {Opt::Kind::Pack, 7, 1}};
  REQUIRE(schedule::check_opts(other, own).ok());
  CHECK(schedule::to_string(two.own(two.canonical(own))) == schedule::to_string(own));
  CHECK(schedule::check_opts(kernel, one.own(two.canonical(own))).ok());
  // What is in no canonical kernel is in none of its own either.
  CHECK_FALSE(schedule::check_opts(other, two.own({{Opt::Kind::Unroll, 40, 2}})).ok());

  // Other facts about a buffer, another size, not packed: another kernel.
  CHECK(schedule::FlatKernel(g, kernel, {{}, {true, true}, {true, true}}, true).digest() != one.digest());
  CHECK(schedule::FlatKernel(g, kernel, facts, false).digest() != one.digest());
  CHECK(schedule::FlatKernel(g, kernel_of(g, {13, 9, 12, false, true}), facts, true).digest() != one.digest());
}

TEST_CASE("records that make no sense are left out, each with a warning") {
  schedule::Records::Protos wire;
  v1::TuningRecord& good = *wire.Add();
  good.set_kernel(std::string(32, 'a'));
  *good.mutable_opts() = schedule::to_proto(kAllKinds);
  wire.Add()->set_kernel("short");
  v1::TuningRecord& unknown = *wire.Add();
  unknown.set_kernel(std::string(32, 'b'));
  unknown.add_opts()->set_kind(static_cast<v1::Opt::Kind>(50));
  std::vector<std::string> warnings;
  const schedule::Records records(wire, warnings);
  CHECK(warnings.size() == 2);
  Digest digest;
  digest.fill('a');
  REQUIRE(records.find(digest) != nullptr);
  CHECK(schedule::to_string(*records.find(digest)) == schedule::to_string(kAllKinds));
  digest.fill('b');
  CHECK(records.find(digest) == nullptr);
}

TEST_CASE("a record with any one bit flipped still gives a right kernel") {
  const Product p{13, 9, 11, false, true};
  const v1::Target target = target_of(256);
  std::mt19937 random(3);
  const std::vector<HostTensor> buffers = buffers_of(p, random);
  const HostTensor wanted = run_with(p, {}, buffers);
  const std::vector<schedule::SlotFacts> facts = {{}, {false, true}, {true, true}};
  v1::TuningRecord record;
  {
    ir::Graph g;
    record.set_kernel(to_bytes(schedule::FlatKernel(g, kernel_of(g, p), facts, true).digest()));
  }
  *record.mutable_opts() =
      schedule::to_proto({{Opt::Kind::Lanes, 1, 4}, {Opt::Kind::Unroll, 0, 3}, {Opt::Kind::Pack, 2, 1}});
  const std::string bytes = record.SerializeAsString();
  constexpr std::size_t kOptsBegin = 2 + 32;  // after the kernel's field
  int used = 0, refused = 0;
  for (std::size_t bit = kOptsBegin * 8; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    schedule::Records::Protos wire;
    if (!wire.Add()->ParseFromString(damaged)) continue;  // the cache's digest stops these anyway
    INFO("bit " << bit << " " << wire.Get(0).DebugString());
    std::vector<std::string> warnings;
    const schedule::Records records(wire, warnings);
    passes::Tuning tuning;
    tuning.records = &records;
    tuning.describe = true;
    tuning.warnings = &warnings;
    ir::Graph g;
    const auto chosen = passes::choose_opts({g, target, tuning, {}}, kernel_of(g, p), {1e3, facts, true});
    INFO(chosen.status());
    REQUIRE(chosen.ok());
    chosen->choice.tuned() ? ++used : ++refused;
    CHECK(run_with(p, chosen->opts, buffers).bytes == wanted.bytes);
  }
  CAPTURE(used, refused);
  CHECK(used > 10);
  CHECK(refused > 10);
}

}  // namespace hearth
