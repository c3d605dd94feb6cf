#include "compiler/codegen/llvm/transposed_blocks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/codegen/llvm/lane_offsets.h"
#include "compiler/ir/affine.h"

namespace hearth::codegen {

using ir::Op;
using ir::UOpRef;

namespace {

constexpr std::size_t kMinLoaded = 4;  // columns: fewer are gathered as fast

// Accesses that differ by a constant only.
struct Family {
  Op op;  // Load or Store
  UOpRef param;
  std::size_t scope;  // between which ends of loops
  std::uint16_t lanes;
  std::int64_t stride;
  std::vector<std::pair<std::uint32_t, std::int64_t>> terms;  // node id and coefficient, sorted
  auto operator<=>(const Family&) const = default;
};

struct Column {
  Family family;
  std::int64_t position;  // constant part of lane 0's
};

std::optional<Column> column_of(UOpRef access, std::size_t scope) {
  const bool loads = access->is(Op::Load);
  const ir::DType dtype = loads ? access->dtype : access->source(1)->dtype;
  const std::uint16_t lanes = dtype.lanes;
  if (access->sources.size() != (loads ? 1 : 2) || byte_size(dtype.element()) != 4) return std::nullopt;
  if (lanes != 8 && lanes != 16 && (loads || lanes != 4)) return std::nullopt;
  UOpRef index = access->source(0);
  if (index->sources.size() != 3) return std::nullopt;
  UOpRef gate = index->source(2)->is(Op::Broadcast) ? index->source(2)->source(0) : index->source(2);
  if (!index->source(0)->is(Op::Param) || !gate->is_const() || gate->int_value() == 0) return std::nullopt;
  std::vector<UOpRef> scalars;
  std::vector<std::int64_t> offsets;
  if (index->source(1)->dtype.lanes != lanes || !split_lanes(index->source(1), scalars, offsets)) return std::nullopt;
  const std::int64_t stride = offsets[1] - offsets[0];
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] - offsets[i - 1] != stride) return std::nullopt;
  }
  if (stride < lanes) return std::nullopt;
  std::map<std::uint32_t, std::int64_t> terms;
  std::int64_t position = offsets[0];
  for (UOpRef scalar : scalars) {
    const ir::Affine affine = ir::to_affine(scalar);
    position += affine.constant;
    for (const ir::AffineTerm& t : affine.terms) terms[t.atom->id] += t.coefficient;
  }
  return Column{{access->op, index->source(0), scope, lanes, stride, {terms.begin(), terms.end()}}, position};
}

}  // namespace

TransposedBlocks::TransposedBlocks(std::span<const UOpRef> body) {
  std::unordered_set<UOpRef> loaded, stored;
  for (UOpRef x : body) {
    if (x->is(Op::Load)) loaded.insert(x->source(0)->source(0));
    if (x->is(Op::Store)) stored.insert(x->source(0)->source(0));
  }
  std::map<Family, std::map<std::int64_t, UOpRef>> families;
  std::size_t scope = 0;
  for (UOpRef x : body) {
    scope += x->is(Op::Range) || x->is(Op::End);
    if (!x->is(Op::Load) && !x->is(Op::Store)) continue;
    if ((x->is(Op::Load) ? stored : loaded).contains(x->source(0)->source(0))) continue;
    if (const std::optional<Column> column = column_of(x, scope)) families[column->family][column->position] = x;
  }
  for (const auto& [family, columns] : families) {
    const std::size_t least = family.op == Op::Load ? kMinLoaded : 2;
    for (auto first = columns.begin(); first != columns.end();) {
      std::vector<UOpRef> block;
      auto last = first;
      while (last != columns.end() && block.size() < family.lanes &&
             last->first == first->first + static_cast<std::int64_t>(block.size())) {
        block.push_back((last++)->second);
      }
      if (block.size() >= least) add_block(block, family.stride);
      first = last;
    }
  }
}

void TransposedBlocks::add_block(std::span<const UOpRef> columns, std::int64_t stride) {
  blocks_.push_back(std::make_unique<Block>(Block{stride, columns.size()}));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    places_[columns[i]] = {blocks_.back().get(), static_cast<std::int64_t>(i)};
  }
}

std::optional<TransposedBlocks::Place> TransposedBlocks::find(UOpRef access) const {
  const auto found = places_.find(access);
  return found == places_.end() ? std::nullopt : std::optional<Place>(found->second);
}

std::array<llvm::Value*, 4> transpose_chunks(llvm::IRBuilder<>& b, const std::array<llvm::Value*, 4>& rows) {
  const int n = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  std::vector<int> mask(static_cast<std::size_t>(n));
  // unpack: `unit` lanes of x, as many of y, from the lower or upper half of every chunk.
  auto unpack = [&](llvm::Value* x, llvm::Value* y, int unit, bool upper) {
    for (int i = 0; i < n; ++i) {
      const int in_chunk = i % 4, pair = in_chunk / (2 * unit), lane = in_chunk % unit;
      const bool second = in_chunk / unit % 2 == 1;
      mask[static_cast<std::size_t>(i)] = i - in_chunk + (upper ? 2 : 0) + pair * unit + lane + (second ? n : 0);
    }
    return b.CreateShuffleVector(x, y, mask);
  };
  std::array<llvm::Value*, 4> columns{};
  for (const bool upper : {false, true}) {
    llvm::Value *x = unpack(rows[0], rows[1], 1, upper), *y = unpack(rows[2], rows[3], 1, upper);
    for (const bool second : {false, true}) columns[(upper ? 2 : 0) + second] = unpack(x, y, 2, second);
  }
  return columns;
}

std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& b, std::span<llvm::Value* const> rows) {
  const int n = static_cast<int>(rows.size()), chunks = n / 4;  // of four lanes
  std::vector<int> mask(rows.size());
  // Every second chunk of x, then of y.
  auto every_second = [&](llvm::Value* x, llvm::Value* y, bool odd) {
    for (int i = 0; i < n; ++i) {
      const int chunk = i / 4, half = chunks / 2;
      mask[static_cast<std::size_t>(i)] = (chunk % half * 2 + odd) * 4 + i % 4 + (chunk >= half ? n : 0);
    }
    return b.CreateShuffleVector(x, y, mask);
  };

  // quads[g][m]: its chunk c holds column 4c + m of rows 4g .. 4g+3.
  std::vector<std::array<llvm::Value*, 4>> quads;
  for (std::size_t g = 0; g < rows.size(); g += 4)
    quads.push_back(transpose_chunks(b, {rows[g], rows[g + 1], rows[g + 2], rows[g + 3]}));
  std::vector<llvm::Value*> columns(rows.size());
  for (std::size_t m = 0; m < 4; ++m) {
    for (const bool odd : {false, true}) {
      llvm::Value* x = every_second(quads[0][m], quads[1][m], odd);
      if (chunks == 2) {
        columns[4 * odd + m] = x;
        continue;
      }
      llvm::Value* y = every_second(quads[2][m], quads[3][m], odd);
      columns[4 * odd + m] = every_second(x, y, false);
      columns[4 * (2 + odd) + m] = every_second(x, y, true);
    }
  }
  return columns;
}

// The whole block when its first column is asked for: `load` is a column, so its lane 0 lies in the block's first row.
llvm::Value* Emitter::transposed(const TransposedBlocks::Place& place, const Access& access, UOpRef load) {
  std::vector<Value*>& columns = columns_[place.block];
  if (columns.empty()) {
    const ir::DType dtype = load->dtype;
    llvm::Type *type = arithmetic_.memory_type(dtype), *element = arithmetic_.memory_type(dtype.element());
    Value* corner = lane_pointers(load->source(0)->source(1), access).front();
    std::vector<llvm::Constant*> is_column;
    for (std::size_t lane = 0; lane < dtype.lanes; ++lane) is_column.push_back(b_.getInt1(lane < place.block->columns));
    Value* first_columns = llvm::ConstantVector::get(is_column);
    std::vector<Value*> rows;
    for (std::int64_t row = 0; row < dtype.lanes; ++row) {
      Value* begin =
          b_.CreateConstGEP1_64(element, corner, static_cast<std::uint64_t>(row * place.block->stride - place.column));
      llvm::Instruction* one = nullptr;
      if (place.block->columns == dtype.lanes) {
        one = b_.CreateAlignedLoad(type, begin, llvm::Align(4));
      } else {
        one = b_.CreateMaskedLoad(type, begin, llvm::Align(4), first_columns, llvm::PoisonValue::get(type));
      }
      annotate(one, *access.slot);
      rows.push_back(one);
    }
    columns = transpose(b_, rows);
  }
  return arithmetic_.from_memory(load->dtype, columns[static_cast<std::size_t>(place.column)]);
}

// Nothing until the block's last column in the body's order is here; then all of it, four columns of a row at a time.
void Emitter::store_transposed(const TransposedBlocks::Place& place, const Access& access, UOpRef store,
                               Value* stored) {
  std::vector<Value*>& columns = columns_[place.block];
  columns.resize(place.block->columns);
  columns[static_cast<std::size_t>(place.column)] = stored;
  if (std::ranges::find(columns, nullptr) != columns.end()) return;
  const ir::DType dtype = store->source(1)->dtype;
  llvm::Type* element = arithmetic_.memory_type(dtype.element());
  Value* corner = lane_pointers(store->source(0)->source(1), access).front();
  for (std::size_t first = 0; first < columns.size(); first += 4) {
    const std::size_t count = std::min<std::size_t>(4, columns.size() - first);
    std::array<Value*, 4> four;
    four.fill(llvm::PoisonValue::get(stored->getType()));
    std::copy_n(columns.begin() + static_cast<std::ptrdiff_t>(first), count, four.begin());
    const std::array<Value*, 4> chunks = transpose_chunks(b_, four);
    for (std::int64_t row = 0; row < dtype.lanes; ++row) {
      std::vector<int> lanes(count);
      std::iota(lanes.begin(), lanes.end(), static_cast<int>(row / 4 * 4));
      const std::int64_t offset = row * place.block->stride - place.column + static_cast<std::int64_t>(first);
      annotate(b_.CreateAlignedStore(b_.CreateShuffleVector(chunks[static_cast<std::size_t>(row % 4)], lanes),
                                     b_.CreateConstGEP1_64(element, corner, static_cast<std::uint64_t>(offset)),
                                     llvm::Align(4)),
               *access.slot);
    }
  }
}

}  // namespace hearth::codegen
