#include "tests/passes/pass_runner.h"

#include <sstream>

#include "compiler/ir/text.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/kernel/apply_opts.h"
#include "compiler/passes/kernel/block_rows.h"
#include "compiler/passes/kernel/materialize_row_values.h"
#include "compiler/passes/kernel/pack_operands.h"
#include "compiler/passes/kernel/prove_conditions.h"
#include "compiler/passes/kernel/share_allocations.h"
#include "compiler/passes/kernel/update_in_place.h"
#include "compiler/passes/lowered/decompose.h"
#include "compiler/passes/lowered/expand.h"
#include "compiler/passes/lowered/guard_loads.h"
#include "compiler/passes/lowered/linearize.h"
#include "compiler/passes/lowered/lower_index.h"
#include "compiler/passes/plan/memory_plan.h"
#include "compiler/passes/plan/plan_build.h"
#include "compiler/passes/ranged/arrange_weights.h"
#include "compiler/passes/ranged/choose_layouts.h"
#include "compiler/passes/ranged/compute_at.h"
#include "compiler/passes/ranged/fuse.h"
#include "compiler/passes/ranged/mark_branches.h"
#include "compiler/passes/ranged/merge_loads.h"
#include "compiler/passes/ranged/rangeify.h"
#include "compiler/passes/ranged/winograd.h"
#include "compiler/passes/tensor/canonicalize.h"
#include "compiler/passes/tensor/choose_blobs.h"
#include "compiler/passes/tensor/separate_branches.h"
#include "compiler/passes/tensor/split_reductions.h"
#include "compiler/pipeline.h"
#include "compiler/rules/rules.h"
#include "fmt/format.h"
#include "google/protobuf/text_format.h"

namespace hearth::tests {
namespace {

using ir::UOpRef;

struct Whole {  // the stations up to split, from a proto
  ir::Graph g;
  v1::Graph proto;
  passes::ImportedGraph imported;
};

absl::Status parse_proto(const std::string& text, v1::Graph& proto) {
  if (!google::protobuf::TextFormat::ParseFromString(text, &proto))
    return absl::InvalidArgumentError("not a v1::Graph in text format");
  return absl::OkStatus();
}

constexpr std::int64_t kAllocationBytes = 128 << 10;  // a CPU's

// A 256-bit machine, so that cases stay short, with a cache that small cases fill.
v1::Target small_target() {
  v1::Target target;
  target.set_device("cpu");
  target.set_vector_bits(256);
  target.set_l2_bytes(4096);
  return target;
}

// The product's own list of steps, for a small machine.
absl::StatusOr<passes::Schedule> schedule_of(const std::string& text, Whole& w) {
  HEARTH_RETURN_IF_ERROR(parse_proto(text, w.proto));
  HEARTH_ASSIGN_OR_RETURN(w.imported, passes::import_graph(w.g, w.proto));
  UOpRef outputs = w.g.make(ir::Op::Sink, ir::Scalar::Void, w.imported.outputs);
  const target::Target target = small_target();
  const v1::CompileOptions options;
  const passes::Tuning tuning;
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, /*dump=*/false);
  const compiler::Compilation compilation{w.g, target, options, log};
  compiler::Lowering lowering{compilation, {}, tuning};
  return compiler::schedule_of(outputs, w.imported, lowering);
}

// "LANES(1,4) UNROLL(0,2)"
absl::StatusOr<std::vector<schedule::Opt>> parse_opts(const std::string& text) {
  std::vector<schedule::Opt> opts;
  std::stringstream in(text);
  for (std::string word; in >> word;) {
    char name[16];
    unsigned axis;
    long amount;
    if (std::sscanf(word.c_str(), "%15[A-Z](%u,%ld)", name, &axis, &amount) != 3)
      return absl::InvalidArgumentError("bad opt " + word);
    const std::optional<schedule::Opt::Kind> kind = schedule::kind_named(name);
    if (!kind) return absl::InvalidArgumentError("no opt " + word);
    opts.push_back({*kind, axis, amount});
  }
  return opts;
}

// One blob, for f16 of 8 columns and any lengths.
std::shared_ptr<const blobs::BlobLibrary> toy_library() {
  constexpr char kAdapter[] = R"toml(
hearth_blob_adapter = 1
op = "scaled_dot_product_attention"
family = "toy"
toolchain = "c++"
stem = "toy_(f16)_(8)_(pad)"
groups = ["dtype", "columns", "pad"]
prefer = []
units = "heads"
glue = ""
[dtypes]
f16 = "f16"
[masks]
none = [""]
causal = [""]
[require]
[fits]
seqlen_q = { tile = "columns", padded = "pad" }
seqlen_k = { tile = "columns", padded = "pad" }
hdim_q = { size = "columns" }
hdim_v = { size = "columns" }
)toml";
  auto library = std::make_shared<blobs::BlobLibrary>();
  library->host_arch = "x86_64";
  library->manifest = {.library = "libtoy",
                       .toolchain = "c++",
                       .blobs = {{.stem = "toy_f16_8_pad",
                                  .family = "toy",
                                  .source = "toy_f16_8_pad.cpp",
                                  .flags = {},
                                  .archs = {},
                                  .exports = {"toy"}}}};
  library->adapters.push_back(*blobs::parse_adapter(kAdapter, "toy.toml"));
  const blobs::Blob& blob = library->manifest.blobs[0];
  library->entries.push_back({&blob, &library->adapters[0], *library->adapters[0].read(blob)});
  return library;
}

std::string list(const std::vector<std::uint32_t>& values) {
  std::string out;
  for (auto v : values) out += (out.empty() ? "" : ",") + std::to_string(v);
  return out;
}

std::string print_schedule(const passes::Schedule& s) {
  constexpr const char* kKinds[] = {"input", "output", "parameter", "constant", "arena", "persistent"};
  std::string out;
  for (std::size_t i = 0; i < s.buffers.size(); ++i) {
    const auto& b = s.buffers[i];
    out += fmt::format("buffer {} {} '{}' {} bytes {} at {}\n", i, kKinds[static_cast<int>(b.kind)], b.name,
                       to_string(b.dtype), b.max_bytes, b.offset);
  }
  for (const auto& l : s.launches) {
    out += fmt::format("launch kernel {} buffers {} vars {} grid {}{}\n", l.kernel, list(l.buffers), list(l.vars),
                       ir::describe(l.grid, 6), l.once ? " once" : "");
  }
  for (std::size_t i = 0; i < s.kernels.size(); ++i) out += fmt::format("kernel {}\n{}", i, s.kernels[i].ast);
  return out;
}

}  // namespace

absl::StatusOr<std::string> run_pass(std::string_view pass, const std::string& text) {
  if (pass == "import") {
    Whole w;
    HEARTH_RETURN_IF_ERROR(parse_proto(text, w.proto));
    HEARTH_ASSIGN_OR_RETURN(w.imported, passes::import_graph(w.g, w.proto));
    return ir::print(w.g.make(ir::Op::Sink, ir::Scalar::Void, w.imported.outputs));
  }
  if (pass == "split" || pass == "memory_plan" || pass == "plan") {
    Whole w;
    HEARTH_ASSIGN_OR_RETURN(passes::Schedule schedule, schedule_of(text, w));
    if (pass == "split") return print_schedule(schedule);
    passes::MemoryPlan memory = passes::memory_plan(schedule);
    if (pass == "memory_plan") {
      return fmt::format("arena {} lower bound {} persistent {}\n", memory.arena_bytes, memory.lower_bound_bytes,
                         memory.persistent_bytes) +
             print_schedule(schedule);
    }
    v1::LoweredPlan plan = passes::build_plan(w.g, {schedule, memory, w.imported, w.proto}, v1::Target());
    std::string out;
    google::protobuf::TextFormat::PrintToString(plan.plan(), &out);
    return out;
  }
  ir::Graph g;
  HEARTH_ASSIGN_OR_RETURN(UOpRef root, ir::parse(g, text));
  absl::StatusOr<UOpRef> result = absl::InvalidArgumentError(fmt::format("no pass '{}'", pass));
  if (pass == "choose_blobs") {
    passes::ImportedGraph imported;
    passes::BlobChoices choices;
    v1::Target target = small_target();
    target.set_device("cpu");
    target.set_triple("x86_64-unknown-linux-gnu");
    const passes::BlobLibraries libraries = {toy_library()};
    root = passes::choose_blobs(g, root, {target, libraries, imported}, choices);
    std::string out = ir::print(root);
    for (const passes::BlobKernel& kernel : choices.kernels)
      out += fmt::format("{} grid {} ops {}\n", kernel.spec.stem(), ir::describe(kernel.grid, 4), kernel.num_ops);
    for (const std::string& note : choices.notes) out += note.substr(note.find(": ") + 2) + "\n";
    return out;
  }
  if (pass == "canonicalize") {
    result = passes::canonicalize(g, root);
  } else if (pass == "separate_branches") {
    result = passes::separate_branches(g, root);
  } else if (pass == "mark_branches") {
    result = passes::mark_branches(g, root, {});
  } else if (pass == "split_reductions") {
    v1::Target target = small_target();
    target.set_threads(2);
    result = passes::split_reductions(g, root, target);
  } else if (pass == "rangeify") {
    result = passes::rangeify(g, root);
  } else if (pass == "choose_layouts") {
    result = passes::choose_layouts(g, root, small_target());
  } else if (pass == "fuse") {
    result = passes::fuse(g, root, small_target());
  } else if (pass == "simplify") {
    result = rules::simplify(g, root);
  } else if (pass == "lower_index") {
    result = passes::lower_index(g, root);
  } else if (pass.substr(0, 11) == "apply_opts ") {
    HEARTH_ASSIGN_OR_RETURN(std::vector<schedule::Opt> opts, parse_opts(std::string(pass.substr(11))));
    result = passes::apply_opts(g, root, opts);
  } else if (pass.substr(0, 14) == "pack_operands ") {
    std::stringstream in{std::string(pass.substr(14))};
    std::uint32_t slot = 0, first = 0;
    if (!(in >> slot >> first)) return absl::InvalidArgumentError("pack_operands SLOT FIRST_FREE_SLOT");
    HEARTH_ASSIGN_OR_RETURN(passes::PackResult packed, passes::pack_operands(g, root, {slot}, first));
    std::string out = ir::print(packed.kernel);
    for (const passes::PackedOperand& operand : packed.packed) {
      out += fmt::format("slot {} is a copy of slot {}, {} elements\n", operand.slot, operand.source_slot,
                         operand.elements);
      for (UOpRef kernel : operand.kernels) out += ir::print(kernel);
    }
    return out;
  } else if (pass == "expand") {
    result = passes::expand(g, root);
  } else if (pass == "materialize_row_values") {
    result = passes::materialize_row_values(g, root, kAllocationBytes);
  } else if (pass == "share_allocations") {
    result = passes::share_allocations(g, root, small_target());
  } else if (pass == "compute_at") {
    result = passes::compute_at(g, root, small_target());
  } else if (pass == "merge_loads") {
    result = passes::merge_loads(g, root);
  } else if (pass == "arrange_weights") {
    result = passes::arrange_weights(g, root);
  } else if (pass == "winograd") {
    result = passes::winograd(g, root, small_target());
  } else if (pass == "block_rows") {
    UOpRef store = root->source(0);
    result = passes::block_rows(g, root, store->source(store->sources.size() - 2), small_target());
  } else if (pass == "prove_conditions") {
    result = passes::prove_conditions(g, root);
  } else if (pass == "update_in_place") {
    HEARTH_ASSIGN_OR_RETURN(const std::optional<UOpRef> updated, passes::update_in_place(g, root, 1));
    if (!updated) return "elsewhere\n";
    result = *updated;
  } else if (pass == "guard_loads") {
    result = passes::guard_loads(g, root);
  } else if (pass == "decompose") {
    result = passes::decompose(g, root, small_target());
  } else if (pass == "linearize") {
    HEARTH_ASSIGN_OR_RETURN(passes::LinearKernel kernel, passes::linearize(g, root));
    HEARTH_RETURN_IF_ERROR(passes::check_linear(kernel));
    return ir::print_list(kernel.body);
  }
  if (!result.ok()) return result.status();
  return ir::print(*result);
}

}  // namespace hearth::tests
