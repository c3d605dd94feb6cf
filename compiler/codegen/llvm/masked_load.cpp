#include "compiler/codegen/llvm/masked_load.h"

#include <algorithm>
#include <vector>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"

namespace hearth::codegen {
namespace {

using llvm::Value;

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
  return b.CreateShuffleVector(mask, llvm::createSequentialMask(begin, count, 0));
}

}  // namespace

Value* emit_masked_load(llvm::IRBuilderBase& b, const MaskedLoad& load, unsigned register_bits,
                        const std::function<void(llvm::Instruction*)>& annotate) {
  const unsigned lanes = load.type->getNumElements();
  const unsigned bits = load.type->getScalarSizeInBits();
  if (register_bits == 0 || bits * lanes <= register_bits) {
    llvm::Instruction* whole = b.CreateMaskedLoad(load.type, load.pointer, load.align, load.mask, load.otherwise);
    annotate(whole);
    return whole;
  }
  llvm::Type* element = load.type->getElementType();
  std::vector<Value*> pieces;
  for (unsigned begin = 0; begin < lanes; begin += register_bits / bits) {
    const unsigned count = std::min(register_bits / bits, lanes - begin);
    Value* mask = some_lanes(b, load.mask, begin, count);
    Value* piece = b.CreateShuffleVector(load.otherwise, llvm::createSequentialMask(begin, count, 0));
    if (!is_never(mask)) {
      llvm::Instruction* part = b.CreateMaskedLoad(llvm::FixedVectorType::get(element, count),
                                                   b.CreateConstGEP1_64(element, load.pointer, begin),
                                                   llvm::commonAlignment(load.align, begin * bits / 8), mask, piece);
      annotate(part);
      piece = part;
    }
    pieces.push_back(piece);
  }
  return llvm::concatenateVectors(b, pieces);
}

}  // namespace hearth::codegen
