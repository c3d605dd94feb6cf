// OpScope: which public op, called from which user line, is being recorded on this thread. Ops are built from other
// ops; errors and provenance name the outermost one. Used inside client/ only.
//
//   Tensor silu(const Tensor& x, Loc loc) { OpScope scope("silu", loc); return x * sigmoid(x); }
#pragma once
#include <cstdint>
#include <string_view>

#include "hearth/error.h"

namespace hearth::client {

class OpScope {
 public:
  OpScope(std::string_view op, const Loc& loc);
  ~OpScope();
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

  // The outermost op and line of this thread; null when no op is being recorded.
  static const OpScope* outermost();
  std::string_view op() const { return op_; }
  const Loc& loc() const { return loc_; }
  std::uint64_t call() const { return call_; }  // another number for every outermost call of this process

 private:
  std::string_view op_;
  Loc loc_;
  bool outer_;
  std::uint64_t call_ = 0;
};

// "dir/file.cpp:12"
std::string describe(const Loc& loc);

// What fail() throws.
absl::Status refusal(std::string_view op, std::string_view message, const Loc& loc);

}  // namespace hearth::client
