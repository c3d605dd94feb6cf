// How many stages a pass left, as the plan's dump has them: whether it did what a case is about.
//
//   CHECK(stages_after(program.lowered(), "fuse") == 2);
#pragma once
#include <string>

#include "hearth/v1/worker.pb.h"

namespace hearth::conformance {

// -1: there is no such pass.
inline int stages_after(const v1::LoweredPlan& plan, const std::string& name) {
  const std::string what = " = stage ";
  for (const v1::PassReport& pass : plan.passes()) {
    if (pass.name() != name) continue;
    int count = 0;
    for (std::size_t at = pass.text().find(what); at != std::string::npos; at = pass.text().find(what, at + 1)) ++count;
    return count;
  }
  return -1;
}

}  // namespace hearth::conformance
