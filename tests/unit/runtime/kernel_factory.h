// Hand-made kernels and plans for the runtime's tests: C source -> ELF artifact through the system compiler, and a
// builder of small v1::Plan messages. Single-threaded. Failures throw std::runtime_error, which Catch reports.
//
//   runtime::ArtifactSource add = compile_kernel("void add(void* const* b, const long* v, long i0, long i1) { … }");
#pragma once
#include <string>

#include "hearth/v1/plan.pb.h"
#include "runtime/hal/device.h"

namespace hearth::testing {

// A private folder that goes away with the process.
const std::string& scratch_folder();

// Compiled once a source; the source is a full C file body (stdint.h is included for it).
runtime::ArtifactSource compile_kernel(const std::string& source);

// A kernel that runs `statement` for each of its units `i`, for device_of_tests() (far_device.h); `arrays` names its
// slots, arrays of float or int. ALIGNED(array): whether that is aligned to its element.
runtime::ArtifactSource compile_map(const std::string& symbol, const std::vector<std::string>& arrays,
                                    const std::string& statement, const std::string& type = "float");
// Sets the target, and what kernels of it need, as device_of_tests() has them.
void set_target(v1::Plan& plan, int threads);

// y = a*x + y over n f32 elements, a in a parameter "a" [1]; y goes through the arena: t = a*x, then out = t + y.
struct SaxpyPlan {
  v1::Plan plan;
  std::vector<runtime::ArtifactSource> artifacts;
};
// The length is variable "n" in [0, max_n], or the constant max_n.
// `launches`: of a replay; more than the two come again in turn.
SaxpyPlan saxpy_plan(std::int64_t max_n, bool symbolic, int launches = 2);

void push_const(v1::Expr* expr, std::int64_t value);
void push_var(v1::Expr* expr, std::int64_t index);
void push_op(v1::Expr* expr, v1::ExprToken::Kind kind);

}  // namespace hearth::testing
