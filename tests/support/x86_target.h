// A target for tests that lower and never run: the same on every machine.
//
//   compiler::lower(graph, test::x86_target(256), options);
#pragma once
#include "base/kernel_abi.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::test {

// x86-64 with vectors of `vector_bits` bits (AVX2 and FMA from 256 on) and two threads.
inline v1::Target x86_target(std::uint32_t vector_bits) {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("x86_64-unknown-linux-gnu");
  if (vector_bits >= 256) {
    for (const char* feature : {"avx", "avx2", "f16c", "fma", "sse4.2"}) target.add_features(feature);
  }
  target.set_vector_bits(vector_bits);
  target.set_threads(2);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

}  // namespace hearth::test
