#include "hearth/ops/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

// A label: a letter, or -1 - i for the i-th axis from the right of the ellipsis.
using Labels = std::vector<int>;

struct Labelled {
  Tensor tensor;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
std::int64_t place(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// One term's labels; `rank` < 0 stands for the result, whose ellipsis has `ellipsis` axes.
Labels parse_term(std::string_view term, std::int64_t rank, std::int64_t ellipsis) {
  const auto letters = std::count_if(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  const std::size_t dots = term.find("...");
  const bool has_ellipsis = dots != std::string_view::npos;
  if (static_cast<std::size_t>(letters) + (has_ellipsis ? 3 : 0) != term.size()) {
    fail_op(str_cat("the term '", term, "' holds more than letters and one '...'"));
  }
  if (rank >= 0) ellipsis = rank - letters;
  if (ellipsis < 0 || (rank >= 0 && !has_ellipsis && ellipsis != 0)) {
    fail_op(str_cat("the term '", term, "' labels ", letters, " axes; its operand has ", rank));
  }
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (has_ellipsis && i == dots) {
      for (std::int64_t k = ellipsis; k > 0; --k) labels.push_back(static_cast<int>(-k));
      i += 2;
    } else {
      labels.push_back(term[i]);
    }
  }
  return labels;
}

struct Equation {
  std::vector<Labels> terms;
  Labels result;
};

Equation parse(std::string_view text, const std::vector<Tensor>& operands) {
  std::string equation(text);
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  Equation parsed;
  std::int64_t ellipsis = 0;
  std::map<int, int> seen;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (begin > left.size()) fail_op(str_cat("'", text, "' has fewer terms than the ", operands.size(), " operands"));
    const std::size_t end = std::min(left.find(',', begin), left.size());
    const Labels labels = parse_term(left.substr(begin, end - begin), require(operands[i], "operands").rank(), 0);
    for (int label : labels) {
      ++seen[label];
      ellipsis = std::max<std::int64_t>(ellipsis, -label);
    }
    parsed.terms.push_back(labels);
    begin = end + 1;
  }
  if (begin <= left.size()) fail_op(str_cat("'", text, "' has more terms than the ", operands.size(), " operands"));
  if (arrow == std::string::npos) {
    // std::map holds the ellipsis first, then the letters in order.
    for (const auto& [label, times] : seen) {
      if (label < 0 || times == 1) parsed.result.push_back(label);
    }
    return parsed;
  }
  parsed.result = parse_term(equation.substr(arrow + 2), -1, ellipsis);
  for (int label : parsed.result) {
    const bool twice = std::count(parsed.result.begin(), parsed.result.end(), label) > 1;
    if (twice || seen.count(label) == 0) {
      fail_op(str_cat("the result's '", std::string(1, static_cast<char>(label)), "' ",
                      twice ? "occurs twice" : "labels no operand's axis"));
    }
  }
  return parsed;
}

// Labels that occur twice become one: every (n + 1)-th element of both axes together.
Labelled diagonals(Labelled x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const auto again = std::find(x.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, x.labels.end(), x.labels[i]);
    if (again == x.labels.end()) continue;
    const auto first = static_cast<std::int64_t>(i), second = again - x.labels.begin();
    const std::int64_t n = const_length(x.tensor, first, "since its diagonal is taken");
    if (!(x.tensor.dim(second) == Dim(n))) {
      fail_op(str_cat("'", std::string(1, static_cast<char>(x.labels[i])), "' labels axes of the lengths ", n, " and ",
                      x.tensor.dim(second).to_string()));
    }
    Axes order;
    Shape flat;
    for (std::int64_t k = 0; k < x.tensor.rank(); ++k) {
      if (k == first || k == second) continue;
      order.push_back(k);
      flat.push_back(x.tensor.dim(k));
    }
    order.insert(order.end(), {first, second});
    flat.emplace_back(n * n);
    const Tensor joined = reshape_to(permute(x.tensor, order), flat);
    const int label = x.labels[i];
    x.labels.erase(again);  // these two alone: a label may occur three times
    x.labels.erase(x.labels.begin() + first);
    x.labels.push_back(label);
    x.tensor = n == 0 ? joined : slice(joined, {{.axis = -1, .step = n + 1}});
    i = static_cast<std::size_t>(-1);  // from the start: the places changed
  }
  return x;
}

Labelled sum_unneeded(const Labelled& x, const Labels& needed) {
  Axes axes;
  Labels kept;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (contains(needed, x.labels[i])) {
      kept.push_back(x.labels[i]);
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return x;
  return {cast_to(reduce_sum(x.tensor, axes), x.tensor.dtype()), kept};
}

// Axes in the order of `labels`; those that x lacks have length 1.
Tensor arranged(const Labelled& x, const Labels& labels) {
  Axes order;
  Shape shape;
  for (int label : labels) {
    const bool own = contains(x.labels, label);
    if (own) order.push_back(place(x.labels, label));
    shape.push_back(own ? x.tensor.dim(place(x.labels, label)) : Dim(1));
  }
  return reshape_to(permute(x.tensor, order), shape);
}

Dim length_of(const Labelled& a, const Labelled& b, int label) {
  const Dim x = a.tensor.dim(place(a.labels, label)), y = b.tensor.dim(place(b.labels, label));
  if (!(x == y) && !(x == Dim(1)) && !(y == Dim(1))) {
    fail_op(str_cat(label < 0 ? std::string("'...'") : str_cat("'", std::string(1, static_cast<char>(label)), "'"),
                    " labels axes of the lengths ", x.to_string(), " and ", y.to_string()));
  }
  return x == Dim(1) ? y : x;
}

// The product of two operands, summed over the labels of both that nobody needs any more.
Labelled product(const Labelled& a, const Labelled& b, const Labels& needed) {
  Labels batch, left, right, inner;
  Shape batch_shape, inner_shape;
  for (int label : a.labels) {
    const bool shared = contains(b.labels, label);
    (!shared ? left : contains(needed, label) ? batch : inner).push_back(label);
    if (shared) (contains(needed, label) ? batch_shape : inner_shape).push_back(length_of(a, b, label));
  }
  for (int label : b.labels) {
    if (!contains(a.labels, label)) right.push_back(label);
  }
  Labels result = batch;
  result.insert(result.end(), left.begin(), left.end());
  result.insert(result.end(), right.begin(), right.end());
  if (inner.empty()) return {arranged(a, result) * arranged(b, result), result};
  // [batch.., left, inner] x [batch.., inner, right]
  const auto matrix = [&](const Labelled& x, const Labels& own, bool own_first) {
    Labels labels = batch;
    const auto append = [&](const Labels& more) { labels.insert(labels.end(), more.begin(), more.end()); };
    append(own_first ? own : inner);
    append(own_first ? inner : own);
    Tensor tensor = arranged(x, labels);
    Shape own_shape;
    for (int label : own) own_shape.push_back(tensor.dim(place(labels, label)));
    Shape full = batch_shape;
    const auto append_shape = [&](const Shape& more) { full.insert(full.end(), more.begin(), more.end()); };
    append_shape(own_first ? own_shape : inner_shape);
    append_shape(own_first ? inner_shape : own_shape);
    Shape folded = batch_shape;
    folded.push_back(num_elements(own_first ? own_shape : inner_shape));
    folded.push_back(num_elements(own_first ? inner_shape : own_shape));
    return std::pair{reshape_to(expand_to(tensor, full), folded), own_shape};
  };
  const auto [x, left_shape] = matrix(a, left, true);
  const auto [y, right_shape] = matrix(b, right, false);
  Shape shape = batch_shape;
  shape.insert(shape.end(), left_shape.begin(), left_shape.end());
  shape.insert(shape.end(), right_shape.begin(), right_shape.end());
  return {reshape_to(matmul(x, y), shape), result};
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Loc loc) {
  OpScope scope("einsum", loc);
  if (operands.empty()) fail_op("there are no operands; expected at least one");
  const Equation parsed = parse(equation, operands);
  DType dtype = operands[0].dtype();
  for (const Tensor& operand : operands) dtype = promote(dtype, operand.dtype());
  const bool narrow = is_float(dtype) && dtype_bytes(dtype) < 4;
  Labelled sum;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    // Needed by the result or a later operand.
    Labels needed = parsed.result;
    for (std::size_t k = i + 1; k < operands.size(); ++k) {
      needed.insert(needed.end(), parsed.terms[k].begin(), parsed.terms[k].end());
    }
    Labelled next = diagonals({narrow ? to_wide(operands[i]) : operands[i], parsed.terms[i]});
    if (i > 0) {
      Labels of_both = needed;
      of_both.insert(of_both.end(), sum.labels.begin(), sum.labels.end());
      next = sum_unneeded(next, of_both);
      sum = product(sum, next, needed);
    } else {
      sum = next;
    }
    sum = sum_unneeded(sum, needed);
  }
  const Tensor result = arranged(sum, parsed.result);
  return narrow ? cast_to(result, dtype) : result;
}

}  // namespace hearth::client
