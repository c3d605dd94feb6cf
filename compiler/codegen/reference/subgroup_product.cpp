#include "compiler/codegen/reference/subgroup_product.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/element_ops.h"

namespace hearth::codegen::reference {
namespace {

using ir::Fragment;
using ir::MatrixStep;

// A matrix of which each invocation has a fragment.
class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) : columns_(columns), elements_(rows * columns) {}

  absl::Status take(const Fragment& fragment, std::uint32_t invocation, const Value& value) {
    if (value.size() != fragment.elements)
      return absl::InvalidArgumentError(
          absl::StrCat("reference: a fragment has ", int{fragment.elements}, " elements, not ", value.size()));
    for (std::uint32_t e = 0; e < fragment.elements; ++e) {
      const MatrixStep place = fragment.at(invocation, e);
      std::optional<Element>& element = elements_[place.row * columns_ + place.column];
      const bool is_same =
          !element || (element->i == value[e].i && (element->f == value[e].f || element->f != element->f));
      if (!is_same)
        return absl::InvalidArgumentError("reference: invocations have different values of one element of a matrix");
      element = value[e];
    }
    return absl::OkStatus();
  }
  absl::StatusOr<Element> at(std::size_t row, std::size_t column) const {
    const std::optional<Element>& element = elements_[row * columns_ + column];
    if (!element) return absl::InvalidArgumentError("reference: nobody has an element of a matrix");
    return *element;
  }

 private:
  std::size_t columns_;
  std::vector<std::optional<Element>> elements_;
};

// As whose fragment an invocation's counts.
std::uint32_t owner(ir::MatrixLayout layout, std::uint32_t subgroup, std::uint32_t invocation) {
  return layout == ir::MatrixLayout::Cooperative ? subgroup - 1 - invocation : invocation;
}

}  // namespace

absl::StatusOr<std::vector<Value>> subgroup_products(ir::UOpRef wmma, const std::vector<SubgroupOperands>& operands) {
  const ir::MatrixShape shape = ir::shape_of(wmma->as<ir::WmmaInfo>());
  const ir::Scalar scalar = wmma->dtype.scalar, exact = accumulator_scalar(scalar);
  if (operands.size() != shape.subgroup)
    return absl::InvalidArgumentError(
        absl::StrCat("reference: ", std::string(shape.name), " is of ", int{shape.subgroup}, " invocations"));
  const ir::MatrixLayout layout = wmma->as<ir::WmmaInfo>().layout;
  Matrix a(shape.m, shape.k), b(shape.k, shape.n);
  for (std::uint32_t i = 0; i < shape.subgroup; ++i) {
    const std::uint32_t own = owner(layout, shape.subgroup, i);
    HEARTH_RETURN_IF_ERROR(a.take(shape.a, own, operands[i].a));
    HEARTH_RETURN_IF_ERROR(b.take(shape.b, own, operands[i].b));
  }
  std::vector<Value> products(shape.subgroup);
  for (std::uint32_t i = 0; i < shape.subgroup; ++i) {
    for (std::uint32_t e = 0; e < shape.sum.elements; ++e) {
      const MatrixStep place = shape.sum.at(owner(layout, shape.subgroup, i), e);
      Element sum = reduce_identity(ir::ReduceKind::Sum, scalar);
      for (std::size_t k = 0; k < shape.k; ++k) {
        HEARTH_ASSIGN_OR_RETURN(const Element left, a.at(place.row, k));
        HEARTH_ASSIGN_OR_RETURN(const Element right, b.at(k, place.column));
        const Element args[] = {left, right};
        HEARTH_ASSIGN_OR_RETURN(const Element product, evaluate(ir::Op::Mul, exact, exact, args));
        sum = reduce_step(ir::ReduceKind::Sum, exact, sum, product);
      }
      products[i].push_back(normalize(scalar, sum));
    }
  }
  return products;
}

Value fragment_positions(const ir::MatrixAccess& access, std::int64_t position, std::int64_t invocation) {
  const ir::MatrixShape shape = ir::shape_of(access.unit);
  const Fragment& fragment = shape.fragment(access.operand);
  const std::uint32_t own =
      owner(access.unit.layout, shape.subgroup, static_cast<std::uint32_t>(invocation % shape.subgroup));
  Value positions;
  for (std::uint32_t e = 0; e < fragment.elements; ++e) {
    const MatrixStep place = fragment.at(own, e);
    positions.push_back(Element::of_int(position + std::int64_t{place.row} * access.row_stride +
                                        std::int64_t{place.column} * access.column_stride));
  }
  return positions;
}

Value matrix_positions(const ir::MatrixAccess& access, std::int64_t position) {
  Value all;
  const std::int64_t subgroup = ir::shape_of(access.unit).subgroup;
  for (std::int64_t i = 0; i < subgroup; ++i) {
    const Value own = fragment_positions(access, position, i);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace hearth::codegen::reference
