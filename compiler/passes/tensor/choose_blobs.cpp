#include "compiler/passes/tensor/choose_blobs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "base/sha256.h"
#include "compiler/ir/length.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

bool compiles_for(const blobs::BlobLibrary& library, const blobs::Blob& blob, const target::Target& target) {
  if (!library.host_arch.empty()) return target.runs(library.host_arch);
  return std::ranges::any_of(blob.archs, [&](const std::string& arch) { return target.runs(arch); });
}

// Blobs count lengths and rows' strides with 32 bits; strides of heads and sequences are the adapters' to apply.
constexpr std::int64_t kMaxBlobLength = std::numeric_limits<std::int32_t>::max();

blobs::Length length_of(UOpRef dim) { return {dim->bounds.min, dim->bounds.max}; }

class Chooser {
 public:
  Chooser(ir::Graph& g, const BlobOffer& offer, BlobChoices& out)
      : g_(g), shapes_(g), imported_(offer.imported), target_(offer.target), libraries_(offer.libraries), out_(out) {}

  UOpRef run(UOpRef sink) {
    return rebuild(g_, sink, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
      return node->is(Op::Attention) ? replace(g_.with_sources(node, sources)) : nullptr;
    });
  }

 private:
  using Entry = blobs::BlobLibrary::Entry;

  UOpRef replace(UOpRef node) {
    const blobs::BlobLibrary* library = nullptr;
    std::string why;
    const Entry* entry = find(node, library, why);
    const std::string place = fmt::format("{}", fmt::join(g_.provenance_texts(node->provenance), "; "));
    if (!entry) {
      out_.notes.push_back(fmt::format("{}: our own kernels: {}", place, why));
      return node->source(3);
    }
    out_.notes.push_back(fmt::format("{}: blob {} of {}", place, entry->blob->stem, library->manifest.library));
    return make_blob(node, *entry, *library);
  }

  const Entry* find(UOpRef node, const blobs::BlobLibrary*& chosen_library, std::string& why) {
    const std::string& toolchain = target_.blob_toolchain();
    if (libraries_.empty()) return why = "no blob library is configured", nullptr;
    if (node->sources.size() > 4) return why = "a mask tensor is given", nullptr;
    for (int i = 0; i < 3; ++i) {
      if (node->source(i)->dtype != node->dtype) return why = "q, k and v have different dtypes", nullptr;
    }
    const blobs::AttentionQuery query = query_of(node);
    for (const blobs::Length* length : {&query.batch, &query.seqlen_q, &query.seqlen_k, &query.hdim_q, &query.hdim_v})
      if (length->min < 1) return why = "a length may be zero", nullptr;
    for (int i = 0; i < 3; ++i) {
      const Shape& shape = shapes_.of(node->source(i));
      const Operand operand = operand_of(node->source(i));
      if (std::max(operand.strides[2]->bounds.max, shape[shape.size() - 2]->bounds.max) > kMaxBlobLength)
        return why = "a length or stride is beyond 32 bits", nullptr;
    }
    const Entry* best = nullptr;
    std::size_t considered = 0;
    for (const auto& library : libraries_) {
      if (library->manifest.toolchain != toolchain) continue;
      for (const Entry& entry : library->entries) {
        if (!compiles_for(*library, *entry.blob, target_)) continue;
        ++considered;
        std::string objection = entry.adapter->objection(entry.stem, query);
        if (!objection.empty()) {
          ++objections_[objection];
        } else if (!best || (best->adapter == entry.adapter && entry.adapter->prefers(entry.stem, best->stem))) {
          best = &entry;
          chosen_library = library.get();
        }
      }
    }
    if (!best) why = considered == 0 ? "no library has blobs for this target" : most_common_objections(considered);
    objections_.clear();
    return best;
  }

  std::string most_common_objections(std::size_t considered) const {
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [text, count] : objections_) sorted.emplace_back(count, text);
    std::ranges::sort(sorted, std::greater());
    std::string out = fmt::format("none of {} blobs fits", considered);
    for (std::size_t i = 0; i < std::min<std::size_t>(sorted.size(), 3); ++i)
      out += fmt::format("{}{} ({})", i ? ", " : ": ", sorted[i].second, sorted[i].first);
    return out;
  }

  blobs::AttentionQuery query_of(UOpRef node) {
    const auto& info = node->as<ir::AttentionInfo>();
    const Sizes sizes = sizes_of(node);
    return {.dtype = to_string(node->dtype),
            .causal = info.causal,
            .past = info.past,
            .batch = length_of(sizes.batch),
            .nhead_q = length_of(sizes.nhead_q),
            .nhead_k = length_of(sizes.nhead_k),
            .seqlen_q = length_of(sizes.seqlen_q),
            .seqlen_k = length_of(sizes.seqlen_k),
            .hdim_q = length_of(sizes.hdim_q),
            .hdim_v = length_of(sizes.hdim_v)};
  }

  struct Sizes {
    UOpRef batch, nhead_q, nhead_k, seqlen_q, seqlen_k, hdim_q, hdim_v;
  };
  Sizes sizes_of(UOpRef node) {
    const Shape q = shapes_.of(node->source(0)), k = shapes_.of(node->source(1)), v = shapes_.of(node->source(2));
    const std::size_t rank = q.size();
    const UOpRef batch = num_elements(g_, Shape(q.begin(), q.end() - 3));
    return {batch, q[rank - 3], k[rank - 3], q[rank - 2], k[rank - 2], q[rank - 1], v[rank - 1]};
  }

  struct Operand {
    UOpRef base;        // to be stored in row-major order
    UOpRef strides[3];  // of batch, head, row
  };
  // Leading axes count as one, so only an operand of at most one of them may be transposed.
  Operand operand_of(UOpRef x) {
    const std::size_t rank = shapes_.of(x).size();
    std::vector<std::size_t> axis(rank);
    for (std::size_t i = 0; i < rank; ++i) axis[i] = i;
    UOpRef base = x;
    if (x->is(Op::Permute) && rank <= 4 && x->as<ir::Axes>().axes.back() == static_cast<std::int64_t>(rank) - 1) {
      base = x->source(0);
      for (std::size_t i = 0; i < rank; ++i) axis[i] = static_cast<std::size_t>(x->as<ir::Axes>().axes[i]);
    }
    const Shape shape = shapes_.of(base);
    const auto stride = [&](std::size_t i) {
      return num_elements(g_, Shape(shape.begin() + axis[i] + 1, shape.end()));
    };
    return {base, {rank > 3 ? stride(rank - 4) : g_.index(0), stride(rank - 3), stride(rank - 2)}};
  }

  UOpRef make_blob(UOpRef node, const Entry& entry, const blobs::BlobLibrary& library) {
    const auto& info = node->as<ir::AttentionInfo>();
    const Sizes s = sizes_of(node);
    const Shape shape = shapes_.of(node);
    std::vector<UOpRef> numbers = {s.batch, s.nhead_q, s.nhead_k, s.seqlen_q, s.seqlen_k, s.hdim_q, s.hdim_v};
    for (std::int64_t value : {std::int64_t{info.causal}, info.past, std::bit_cast<std::int64_t>(info.scale)})
      numbers.push_back(g_.index(value));
    std::vector<UOpRef> sources;
    for (int i = 0; i < 3; ++i) {
      const Operand operand = operand_of(node->source(i));
      sources.push_back(operand.base);
      numbers.insert(numbers.end(), std::begin(operand.strides), std::end(operand.strides));
    }
    const UOpRef row = s.hdim_v, head = num_elements(g_, {s.seqlen_q, row}),
                 batch = num_elements(g_, {s.nhead_q, s.seqlen_q, row});
    numbers.insert(numbers.end(), {batch, head, row});
    sources.push_back(array_of(numbers));

    const auto id = static_cast<std::uint32_t>(out_.kernels.size());
    out_.kernels.push_back(kernel_for(entry, library, s));
    sources.insert(sources.end(), shape.begin(), shape.end());
    return g_.make(Op::Blob, node->dtype, sources, ir::BlobInfo{id, 4});
  }

  BlobKernel kernel_for(const Entry& entry, const blobs::BlobLibrary& library, const Sizes& s) {
    BlobKernel kernel;
    kernel.library = library.digest;
    const std::string glue = entry.adapter->glue("");
    kernel.symbol = "hearth_blob_" + to_hex(sha256(entry.blob->stem + "\n" + glue)).substr(0, 16);
    v1::BlobSpec& spec = kernel.spec;
    spec.set_stem(entry.blob->stem);
    spec.set_toolchain(library.manifest.toolchain);
    spec.set_source(entry.blob->source);
    spec.mutable_flags()->Assign(entry.blob->flags.begin(), entry.blob->flags.end());
    if (!target_.blob_arch().empty()) spec.add_archs(target_.blob_arch());
    spec.add_exports(kernel.symbol);
    spec.set_glue(entry.adapter->glue(kernel.symbol));
    kernel.grid = entry.adapter->is_launched_by_head() ? num_elements(g_, {s.batch, s.nhead_q}) : g_.index(1);
    kernel.num_ops = 2.0;
    for (UOpRef length : {s.batch, s.nhead_q, s.seqlen_q, s.seqlen_k})
      kernel.num_ops *= static_cast<double>(length->bounds.max);
    kernel.num_ops *= static_cast<double>(s.hdim_q->bounds.max + s.hdim_v->bounds.max);
    return kernel;
  }

  // An i64 vector of these values: a constant, or computed from the variables.
  UOpRef array_of(const std::vector<UOpRef>& numbers) {
    if (std::ranges::all_of(numbers, [](UOpRef n) { return n->is_const(); })) {
      std::string data(numbers.size() * 8, '\0');
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::int64_t value = numbers[i]->int_value();
        std::memcpy(data.data() + 8 * i, &value, 8);
      }
      const auto id = static_cast<std::uint32_t>(imported_.buffers.size());
      const std::vector<UOpRef> shape = {g_.index(static_cast<std::int64_t>(numbers.size()))};
      imported_.buffers.push_back({ir::BufferKind::Constant, "", ir::Scalar::I64, shape, std::move(data)});
      return g_.make(Op::Buffer, ir::Scalar::I64, shape, ir::BufferInfo{ir::BufferKind::Constant, id});
    }
    std::vector<UOpRef> parts;
    for (UOpRef number : numbers) {
      if (number->is_const()) {
        parts.push_back(
            g_.make(Op::Reshape, ir::Scalar::I64, {g_.constant(ir::Scalar::I64, number->int_value()), g_.index(1)}));
      } else {  // position `number` of 0, 1, 2, …
        UOpRef end = canonical_length(g_, ir::fold_add(g_, number, g_.index(1)));
        UOpRef positions = g_.make(Op::Iota, ir::Scalar::I64, {end}, ir::Axes{{0}});
        parts.push_back(g_.make(Op::Shrink, ir::Scalar::I64, {positions, number, end}));
      }
    }
    return g_.make(Op::Cat, ir::Scalar::I64, parts, ir::Axes{{0}});
  }

  ir::Graph& g_;
  ir::ShapeCache shapes_;
  ImportedGraph& imported_;
  const target::Target& target_;
  const BlobLibraries& libraries_;
  BlobChoices& out_;
  std::map<std::string, std::size_t> objections_;  // of the attention at hand
};

}  // namespace

UOpRef choose_blobs(ir::Graph& graph, UOpRef sink, const BlobOffer& offer, BlobChoices& choices) {
  return Chooser(graph, offer, choices).run(sink);
}

}  // namespace hearth::passes
