// OpenBLAS as a peer: matmul_N (square, both operands plain inputs), gemv_N (A·x, A in C order) and gemv_N_wconst
// (the matrix is a parameter, so it may be stored in whichever order OpenBLAS multiplies faster).
#include <cblas.h>

#include "tests/bench/compare/bench.h"

namespace {

using hearth::compare::Array;
using hearth::compare::Variants;

Variants matmul(int n) {
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  auto a = std::make_shared<Array>(count);
  auto b = std::make_shared<Array>(count);
  auto c = std::make_shared<Array>(count);
  return {{"sgemm", [=] {
             cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F, a->data(), n, b->data(), n, 0.0F,
                         c->data(), n);
           }}};
}

Variants gemv(int n, bool any_order) {
  auto a = std::make_shared<Array>(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  auto x = std::make_shared<Array>(static_cast<std::size_t>(n));
  auto y = std::make_shared<Array>(static_cast<std::size_t>(n));
  const auto run = [=](CBLAS_TRANSPOSE order) {
    cblas_sgemv(CblasRowMajor, order, n, n, 1.0F, a->data(), n, x->data(), 1, 0.0F, y->data(), 1);
  };
  Variants variants = {{"rows", [=] { run(CblasNoTrans); }}};
  if (any_order) variants.push_back({"columns", [=] { run(CblasTrans); }});
  return variants;
}

Variants work(const std::string& name, int threads) {
  openblas_set_num_threads(threads);
  if (const int n = hearth::compare::number_after(name, "matmul_")) return matmul(n);
  if (const int n = hearth::compare::number_after(name, "gemv_")) {
    return gemv(n, name.find("wconst") != std::string::npos);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) { return hearth::compare::bench_main(argc, argv, work); }
