// The functions that blob_call_bench calls: as templates for its blob, under plain names for a call through the PLT.
#pragma once

struct BenchArgs {
  int values[128];
};
struct BenchSmallArgs {
  int values[2];
};
struct BenchTrait {};

template <typename T>
int leaf_(const int& scale, BenchArgs args);
template <typename T>
int small_leaf_(const int& scale, BenchSmallArgs args);

int bench_leaf(const int& scale, BenchArgs args);
int bench_small_leaf(const int& scale, BenchSmallArgs args);
