// Random graphs in f16 and bf16 beside f64, with large numbers. Each node may round its result once, or leave that out:
// the generator carries, beside each value in f64, how far rounding at every node can take it. HEARTH_FUZZ_GRAPHS says
// how many (default 150; under sanitizers 60), HEARTH_FUZZ_SEED where to begin.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/conformance/aarch64/aarch64_runner.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using codegen::reference::Element;
using ir::Scalar;

// Elements of [rows, columns].
struct HalfValue {
  Node node = 0;
  std::vector<double> at, error;
  std::vector<bool> any;  // a node on the way may be beyond the type, or has no bound: nothing is said
};

class HalfGraph {
 public:
  HalfGraph(std::uint64_t seed, Scalar half) : half_(half), random_(seed) {
    rows_ = random_.in(1, 5);
    columns_ = random_.in(1, 40);
    for (std::int64_t k = random_.in(1, 3); k > 0; --k) leaf();
    for (std::int64_t k = random_.in(3, 12); k > 0; --k) step();
    const std::size_t count = values_.size();
    outputs_ = {count - 1};
    if (count > 2) outputs_.push_back(static_cast<std::size_t>(random_.in(0, static_cast<std::int64_t>(count) - 2)));
    for (const std::size_t k : outputs_) builder_.output(values_[k].node);
  }

  const v1::Graph& graph() const { return builder_.graph(); }
  const Feed& feed() const { return feed_; }

  // The share of the outputs' elements that have a bound.
  double judged() const {
    double all = 0, bounded = 0;
    for (const std::size_t k : outputs_) {
      for (const bool any : values_[k].any) bounded += any ? 0 : 1;
      all += static_cast<double>(size());
    }
    return bounded / all;
  }

  // What of `got` is further from f64 than roundings explain, "" if nothing.
  std::string complaint(const Tensors& got) const {
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const HalfValue& value = values_[outputs_[k]];
      for (std::size_t i = 0; i < value.at.size(); ++i) {
        const double element = got[k].get(static_cast<std::int64_t>(i)).f;
        if (value.any[i] || std::fabs(element - value.at[i]) <= value.error[i]) continue;
        return absl::StrCat("output ", k, " element ", i, " is ", element, ", in f64 ", value.at[i], " +- ",
                            value.error[i]);
      }
    }
    return "";
  }

 private:
  double greatest() const { return half_ == Scalar::F16 ? 65504 : 1e38; }
  // Of one rounding of a number up to this.
  double rounding(double magnitude) const {
    const int digits = half_ == Scalar::F16 ? 11 : 8, least = half_ == Scalar::F16 ? -14 : -126;
    const int exponent = magnitude > 0 ? std::max(least, std::ilogb(magnitude)) : least;
    return std::ldexp(1.0, exponent - digits);
  }
  std::size_t size() const { return static_cast<std::size_t>(rows_ * columns_); }
  HalfValue fresh(Node node) const {
    return {node, std::vector<double>(size()), std::vector<double>(size()), std::vector<bool>(size())};
  }
  const HalfValue& pick() { return values_[static_cast<std::size_t>(random_.in(0, std::ssize(values_) - 1))]; }

  // Element `i`: the exact value, what its operands' errors make of it, and the greatest number added up on the way.
  void set(HalfValue& value, std::size_t i, double exact, double error, double summed = 0) const {
    const double reach = std::fabs(exact) + error;
    value.at[i] = exact;
    value.error[i] = 1.01 * (error + rounding(reach)) + std::ldexp(std::max(reach, summed), -21);
    value.any[i] = value.any[i] || !(reach + value.error[i] <= greatest());
  }

  void leaf() {
    const double magnitude = random_.pick(std::vector<double>{0x1p-10, 1, 300, 20'000, 60'000});
    HalfValue value = fresh(builder_.input(wire(half_), {rows_, columns_}));
    HostTensor tensor(half_, {rows_, columns_});
    for (std::size_t i = 0; i < size(); ++i) {
      tensor.set(static_cast<std::int64_t>(i), Element::of_float(magnitude * (2 * random_.unit() - 1)));
      value.at[i] = tensor.get(static_cast<std::int64_t>(i)).f;
    }
    feed_.inputs.push_back(std::move(tensor));
    values_.push_back(std::move(value));
  }

  void step() {
    switch (random_.in(0, 7)) {
      case 0:
      case 1:
      case 2:
        return arithmetic(pick(), pick());
      case 3:
        return quotient(pick(), pick());
      case 4:
        return function(pick());
      case 5:
        return choice(pick(), pick());
      default:
        return reduction(pick());
    }
  }

  void arithmetic(const HalfValue a, const HalfValue b) {
    const v1::Op op = random_.pick(std::vector<v1::Op>{v1::ADD, v1::SUB, v1::MUL, v1::MAX, v1::MIN});
    HalfValue made = fresh(builder_.op(op, {a.node, b.node}));
    for (std::size_t i = 0; i < size(); ++i) {
      const double x = a.at[i], y = b.at[i], dx = a.error[i], dy = b.error[i];
      made.any[i] = a.any[i] || b.any[i];
      if (op == v1::MUL) {
        set(made, i, x * y, std::fabs(x) * dy + std::fabs(y) * dx + dx * dy);
      } else if (op == v1::MAX || op == v1::MIN) {
        set(made, i, op == v1::MAX ? std::max(x, y) : std::min(x, y), std::max(dx, dy));
      } else {
        set(made, i, op == v1::ADD ? x + y : x - y, dx + dy, std::max(std::fabs(x), std::fabs(y)));
      }
    }
    values_.push_back(std::move(made));
  }

  void quotient(const HalfValue a, const HalfValue b) {
    HalfValue made = fresh(builder_.op(v1::DIV, {a.node, b.node}));
    for (std::size_t i = 0; i < size(); ++i) {
      const double x = a.at[i], y = std::fabs(b.at[i]), dx = a.error[i], dy = b.error[i];
      // A divisor that may be subnormal may count as zero where the device flushes.
      made.any[i] = a.any[i] || b.any[i] || y < 4 * dy || y < 0x1p-13;
      if (!made.any[i]) set(made, i, x / b.at[i], (std::fabs(x) * dy + y * dx) / (y * (y - dy)));
    }
    values_.push_back(std::move(made));
  }

  void function(const HalfValue x) {
    const v1::Op op = random_.pick(std::vector<v1::Op>{v1::NEG, v1::ABS, v1::TANH, v1::SIGMOID, v1::SQRT, v1::EXP});
    const Node operand = op == v1::SQRT ? builder_.op(v1::ABS, {x.node}) : x.node;
    HalfValue made = fresh(builder_.op(op, {operand}));
    for (std::size_t i = 0; i < size(); ++i) {
      const double v = x.at[i], d = x.error[i], a = std::fabs(v);
      made.any[i] = x.any[i] || (op == v1::EXP && (a > 10 || d > 1));
      if (made.any[i]) continue;
      if (op == v1::NEG || op == v1::ABS) set(made, i, op == v1::NEG ? -v : a, d);
      if (op == v1::TANH) set(made, i, std::tanh(v), std::min(d, 2.0), 1);
      if (op == v1::SIGMOID) set(made, i, 1 / (1 + std::exp(-v)), std::min(d / 4, 1.0), 1);
      if (op == v1::SQRT) {
        // An operand that may be 0 or subnormal has the root of what it may be.
        const double low = a - d > 0 ? std::sqrt(a) - std::sqrt(a - d) : std::sqrt(a);
        set(made, i, std::sqrt(a), std::max(low, std::sqrt(a + d) - std::sqrt(a)) + (a < 0x1p-13 ? std::sqrt(a) : 0));
      }
      if (op == v1::EXP) set(made, i, std::exp(v), std::exp(v) * std::expm1(d));
    }
    values_.push_back(std::move(made));
  }

  void choice(const HalfValue a, const HalfValue b) {
    const Dims shape = {rows_, columns_};
    const Node place = builder_.iota(v1::I32, shape, 1);
    const std::int64_t from = random_.in(0, columns_);
    const Node condition = builder_.op(v1::LT, {place, builder_.fill(v1::I32, Element::of_int(from), shape)});
    HalfValue made = fresh(builder_.op(v1::WHERE, {condition, a.node, b.node}));
    for (std::size_t i = 0; i < size(); ++i) {
      const HalfValue& chosen = static_cast<std::int64_t>(i) % columns_ < from ? a : b;
      made.any[i] = chosen.any[i];
      set(made, i, chosen.at[i], chosen.error[i]);
    }
    values_.push_back(std::move(made));
  }

  void reduction(const HalfValue x) {
    const v1::Op op = random_.pick(std::vector<v1::Op>{v1::REDUCE_SUM, v1::REDUCE_SUM, v1::REDUCE_MAX});
    const bool is_sum = op == v1::REDUCE_SUM;
    HalfValue row = fresh(builder_.expand(builder_.reduce(op, x.node, {1}), {rows_, columns_}));
    for (std::int64_t r = 0; r < rows_; ++r) {
      double exact = is_sum ? 0 : -INFINITY, error = 0, summed = 0;
      bool any = false;
      for (std::int64_t c = 0; c < columns_; ++c) {
        const auto i = static_cast<std::size_t>(r * columns_ + c);
        any = any || x.any[i];
        exact = is_sum ? exact + x.at[i] : std::max(exact, x.at[i]);
        error = is_sum ? error + x.error[i] : std::max(error, x.error[i]);
        summed += std::fabs(x.at[i]);
      }
      for (std::int64_t c = 0; c < columns_; ++c) {
        const auto i = static_cast<std::size_t>(r * columns_ + c);
        row.any[i] = any;
        if (!any) set(row, i, exact, error, is_sum ? summed : 0);
      }
    }
    values_.push_back(std::move(row));
  }

  const Scalar half_;
  Random random_;
  std::int64_t rows_ = 1, columns_ = 1;
  GraphBuilder builder_;
  Feed feed_;
  std::vector<HalfValue> values_;
  std::vector<std::size_t> outputs_;
};

std::uint64_t half_setting(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

TEST_CASE("random graphs in half precision are as near to f64 as roundings allow") {
  const std::uint64_t count = half_setting("HEARTH_FUZZ_GRAPHS", 60);
  const std::uint64_t first = half_setting("HEARTH_FUZZ_SEED", 1);
  using Execution = Program::Execution;
  std::vector<Execution> executions = {Execution::Ast, Execution::Linear};
  executions.push_back(on_gpu() ? Execution::Gpu : Execution::Compiled);
  if (on_gpu() && !find_gpu().ok()) SKIP_CASE("there is no such GPU");
  if (on_aarch64() && !aarch64_runner().ok()) SKIP_CASE(std::string(aarch64_runner().status().message()));
  int failures = 0;
  double judged = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    const HalfGraph random(seed, seed % 2 == 0 ? Scalar::F16 : Scalar::BF16);
    INFO("HEARTH_FUZZ_SEED=" << seed);
    judged += random.judged();
    Program program(random.graph(), on_gpu() ? gpu_target() : seed % 3 == 0 ? wide_target() : host_target());
    const auto reference = program.run_reference(random.feed());
    REQUIRE(reference.ok());
    std::string what = random.complaint(*reference);
    for (const Execution execution : executions) {
      if (!what.empty()) break;
      const auto got = program.run(random.feed(), execution);
      INFO(got.status());
      REQUIRE(got.ok());
      what = random.complaint(*got);
      if (!what.empty()) what = absl::StrCat("execution ", static_cast<int>(execution), ": ", what);
    }
    failures += what.empty() ? 0 : 1;
    if (!what.empty()) UNSCOPED_INFO(program.text());
    CHECK(what == "");
  }
  if (count >= 60) CHECK(judged > 0.5 * static_cast<double>(count));
}

}  // namespace
}  // namespace hearth::conformance
