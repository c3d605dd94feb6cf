#include "compiler/codegen/llvm/masked_load.h"

#include <numeric>
#include <vector>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"

namespace hearth::codegen {
namespace {

using llvm::Value;

std::vector<int> lane_numbers(unsigned begin, unsigned count) {
  std::vector<int> lanes(count);
  std::iota(lanes.begin(), lanes.end(), static_cast<int>(begin));
  return lanes;
}

bool is_never(const Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant != nullptr && constant->isNullValue();
}

// The mask's lanes from begin on; conjunctions are split lane by lane, so that what is off for certain shows.
Value* some_lanes(llvm::IRBuilderBase& b, Value* mask, unsigned begin, unsigned count) {
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(mask)) {
    std::vector<llvm::Constant*> lanes;
    for (unsigned lane = begin; lane < begin + count; ++lane) lanes.push_back(constant->getAggregateElement(lane));
    return llvm::ConstantVector::get(lanes);
  }
  if (Value* one = llvm::getSplatValue(mask)) return b.CreateVectorSplat(count, one);
  if (auto* both = llvm::dyn_cast<llvm::BinaryOperator>(mask);
      both != nullptr && both->getOpcode() == llvm::Instruction::And) {
    Value* left = some_lanes(b, both->getOperand(0), begin, count);
    if (is_never(left)) return left;
    Value* right = some_lanes(b, both->getOperand(1), begin, count);
    return is_never(right) ? right : b.CreateAnd(left, right);
  }
  return b.CreateShuffleVector(mask, lane_numbers(begin, count));
}

}  // namespace

Value* emit_masked_load(llvm::IRBuilderBase& b, const MaskedLoad& load, unsigned register_bits,
                        const std::function<void(llvm::Instruction*)>& annotate) {
  const unsigned lanes = load.type->getNumElements();
  const unsigned bits = load.type->getScalarSizeInBits();
  if (register_bits == 0 || bits * lanes <= register_bits || lanes % 2 != 0) {
    llvm::Instruction* whole = b.CreateMaskedLoad(load.type, load.pointer, load.align, load.mask, load.otherwise);
    annotate(whole);
    return whole;
  }
  const unsigned half = lanes / 2;
  auto* type = llvm::FixedVectorType::get(load.type->getElementType(), half);
  auto part = [&](unsigned begin) -> Value* {
    Value* mask = some_lanes(b, load.mask, begin, half);
    Value* otherwise = b.CreateShuffleVector(load.otherwise, lane_numbers(begin, half));
    if (is_never(mask)) return otherwise;
    Value* pointer = begin == 0 ? load.pointer : b.CreateConstGEP1_64(load.type->getElementType(), load.pointer, begin);
    // A half's first element may be aligned to no more than itself.
    const llvm::Align align = std::min(load.align, llvm::Align(half * bits / 8));
    return emit_masked_load(b, {type, pointer, align, mask, otherwise}, register_bits, annotate);
  };
  Value* first = part(0);
  return b.CreateShuffleVector(first, part(half), lane_numbers(0, lanes));
}

}  // namespace hearth::codegen
