// FloatMode: how this thread's processor treats subnormal floats (MXCSR on x86-64, FPCR on AArch64, whose one bit is for
// operands and results: kResults leaves it alone). Rounding and exception bits stay as they are. Nothing elsewhere.
//
//   { const FloatModeScope scope(Subnormals::kResults); replay(); }   // then as before
#pragma once
#include <cstdint>

#include "hearth/subnormals.h"

namespace hearth::runtime {

class FloatModeScope {
 public:
  explicit FloatModeScope(Subnormals subnormals) : before_(read()) {
    const std::uint64_t wanted = before_ | bits(subnormals);
    changed_ = wanted != before_;  // asking costs a nanosecond, writing twice eight
    if (changed_) write(wanted);
  }
  ~FloatModeScope() {
    if (changed_) write((read() & ~kAllBits) | (before_ & kAllBits));  // exceptions that were raised stay
  }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t kFlushResults = 0x8000, kZeroOperands = 0x0040, kAllBits = 0x8040;
  static std::uint64_t bits(Subnormals subnormals) {
    return subnormals == Subnormals::kKeep      ? 0
           : subnormals == Subnormals::kResults ? kFlushResults
                                                : kFlushResults | kZeroOperands;
  }
  static std::uint64_t read() { return __builtin_ia32_stmxcsr(); }
  static void write(std::uint64_t mode) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kAllBits = std::uint64_t{1} << 24;
  static std::uint64_t bits(Subnormals subnormals) { return subnormals == Subnormals::kAll ? kAllBits : 0; }
  static std::uint64_t read() {
    std::uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(std::uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  static constexpr std::uint64_t kAllBits = 0;
  static std::uint64_t bits(Subnormals) { return 0; }
  static std::uint64_t read() { return 0; }
  static void write(std::uint64_t) {}
#endif

  std::uint64_t before_;
  bool changed_;
};

}  // namespace hearth::runtime
