#include "blob_call_bench_blob.h"

template <>
int leaf_<BenchTrait>(const int& scale, BenchArgs args) {
  return scale + args.values[127];
}
template <>
int small_leaf_<BenchTrait>(const int& scale, BenchSmallArgs args) {
  return scale + args.values[1];
}
int bench_leaf(const int& scale, BenchArgs args) { return scale + args.values[127]; }
int bench_small_leaf(const int& scale, BenchSmallArgs args) { return scale + args.values[1]; }
