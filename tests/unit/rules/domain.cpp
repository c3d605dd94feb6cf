#include "tests/unit/rules/domain.h"

namespace hearth::test {

using ir::Scalar;

std::string to_string(const Domain& domain) {
  return domain.theory == Theory::Real ? "real" : ir::to_string(domain.type);
}

Domain domain_of(Scalar type) {
  const ir::DType dtype(type);
  if (ir::is_index(dtype)) return {Theory::Integer, type};
  if (ir::is_bool(dtype)) return {Theory::Bool, type};
  if (ir::is_float(dtype)) return {Theory::Float, type};
  return {ir::is_signed_int(dtype) ? Theory::Signed : Theory::Unsigned, type};
}

std::vector<Domain> domains_of(rewrite::DTypeSet dtypes) {
  std::vector<Domain> domains;
  const auto add = [&](rewrite::DTypeSet dtype, std::initializer_list<Scalar> types) {
    if ((dtypes & dtype) == 0) return;
    for (const Scalar type : types) domains.push_back(domain_of(type));
  };
  add(rewrite::kBool, {Scalar::Bool});
  add(rewrite::kSigned, {Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64});
  add(rewrite::kUnsigned, {Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64});
  add(rewrite::kIndex, {Scalar::Index});
  add(rewrite::kFloat, {Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64, Scalar::F8E4M3, Scalar::F8E5M2});
  return domains;
}

}  // namespace hearth::test
