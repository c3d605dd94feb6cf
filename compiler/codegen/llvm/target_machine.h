// LLVM's TargetMachine for a hearth target, and what the emitter must know of it (the target hooks).
// Errors name the triple or feature that LLVM does not know. Initialises LLVM's x86 and AArch64 back ends once.
#pragma once
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"
#include "llvm/Target/TargetMachine.h"

namespace hearth::codegen {

// Instructions whose absence would make LLVM call a library function; the emitter expands those itself.
struct TargetTraits {
  bool has_fma = false;           // fused multiply-add
  bool has_round = false;         // floor, ceil, trunc, round-to-even as instructions
  bool has_half_convert = false;  // f16 <-> f32
  bool has_scaleb = false;        // vectors of 512 bits times powers of two
  // Lanes of the longest dot products of pairs of bf16 and of four bytes that are worth using; 0: none.
  unsigned bf16_dot_lanes = 0, byte_dot_lanes = 0;
  // Bytes from which on a result is written past the caches, and whether rows that are kept first are written so, too,
  // rather than asked for in time (kept_rows.h).
  std::int64_t least_streamed_bytes = std::int64_t{32} << 20;
  bool streams_rows = false;
  // Whether what is read or written next is asked for, and an address is chosen where a branch would stand in a tile:
  // of processors, whose kernels are vectors.
  bool prefetches = true, chooses_addresses = true;
  // Whether quotients of 64 bits that fit in 32 are worth two conversions: of GPUs, which multiply 32 bits at a time.
  bool divides_narrow = false;
  // Whether vectors that a reduction reads next are worth asking for; the next channel of a window always is.
  bool prefetches_streams = true;
  std::int64_t vector_registers = 16;
  // Iterations of an innermost loop that stand in a row, 0: LLVM decides; and sums that they add to in all: what they
  // read is loaded at once, and has to find registers.
  std::uint32_t max_unrolled = 0, unrolled_updates = 128;
  // Bits of the widest vector that one masked load of 4 or 8 byte elements reads; 0: LLVM splits wider ones rightly.
  unsigned masked_load_bits = 0;
};

struct TargetDescription {
  std::unique_ptr<llvm::TargetMachine> machine;
  TargetTraits traits;
  std::string cpu;       // baseline, e.g. "x86-64"
  std::string tune_cpu;  // empty: LLVM's default
  std::string features;  // "+avx,+avx2"
};

absl::StatusOr<TargetDescription> describe_target(const v1::Target& target, const v1::CompileOptions& options);

}  // namespace hearth::codegen
