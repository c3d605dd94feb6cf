#include "blobs/tools/cpp_walker.h"

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

constexpr int kLongestHead = 512;  // tokens between template <> and its function's parameters
constexpr int kDeepestStatement = 100;

}  // namespace

absl::Status CppWalker::walk() {
  for (int i = 0; i < tokens_.size();) {
    if (const auto skipped = discarded_.find(i); skipped != discarded_.end() && skipped->second > i) {
      i = skipped->second;
      continue;
    }
    HEARTH_ASSIGN_OR_RETURN(const int next, step(i));
    i = next;
  }
  return absl::OkStatus();
}

std::string CppWalker::where(int i) const { return str_cat(file_, ":", tokens_.line(i)); }

std::vector<std::string> CppWalker::namespaces() const {
  std::vector<std::string> names;
  for (const Scope& scope : scopes_)
    if (scope.kind == ScopeKind::kNamespace) names.push_back(scope.name);
  return names;
}

absl::StatusOr<int> CppWalker::step(int i) {
  if (tokens_.tokens[i].kind >= CppTokenKind::kIf) {
    directive(i);
    return i + 1;
  }
  const std::string_view text = tokens_.text(i);
  if (tokens_.tokens[i].kind == CppTokenKind::kSign) {
    if (text == "{" || text == "(" || text == "[") open(i);
    if (text == "}" || text == ")" || text == "]") close(i);
    if (text == ";")
      while (!scopes_.empty() && scopes_.back().kind == ScopeKind::kTemplate) pop();
    return i + 1;
  }
  if (!tokens_.is_name(i)) return i + 1;
  if (text == "template" && tokens_.is(i + 1, "<")) return template_head(i);
  if (text == "using" && tokens_.is_name(i + 1) && tokens_.is(i + 2, "=")) return using_alias(i);
  if (text == "if" && tokens_.is(i + 1, "constexpr") && tokens_.is(i + 2, "(")) discard(i);
  return on_name(i);
}

void CppWalker::directive(int i) {
  if (tokens_.tokens[i].kind == CppTokenKind::kIf) {
    conditionals_.push_back({scopes_, inner_, aliases_.mark(), {}});
    return;
  }
  if (conditionals_.empty()) return;
  Conditional& top = conditionals_.back();
  if (tokens_.tokens[i].kind == CppTokenKind::kElse) {
    aliases_.set_aside(top.mark, &top.branches);
    scopes_ = top.scopes;
    inner_ = top.inner;
  } else {
    aliases_.restore(std::move(top.branches));
    conditionals_.pop_back();
  }
}

void CppWalker::push(ScopeKind kind, std::string name) {
  scopes_.push_back({kind, aliases_.mark(), std::move(name)});
  inner_ += is_inner(kind);
}

void CppWalker::pop() {
  aliases_.rewind(scopes_.back().mark);
  inner_ -= is_inner(scopes_.back().kind);
  scopes_.pop_back();
}

void CppWalker::open(int i) {
  if (!tokens_.is(i, "{")) return push(ScopeKind::kOther);
  // namespace { … }, namespace a::b { … }, extern "C" { … }
  int k = i - 1;
  while (tokens_.is_name(k) && !tokens_.is(k, "namespace") &&
         (tokens_.is(k - 1, "::") || tokens_.is(k - 1, "namespace")))
    k -= tokens_.is(k - 1, "::") ? 2 : 1;
  if (tokens_.is(k, "namespace")) return push(ScopeKind::kNamespace, tokens_.joined(k + 1, i));
  push(tokens_.is(i - 2, "extern") ? ScopeKind::kLinkage : ScopeKind::kBrace);
}

void CppWalker::close(int i) {
  const bool brace = tokens_.is(i, "}");
  while (!scopes_.empty() && scopes_.back().kind == ScopeKind::kTemplate) pop();
  if (!scopes_.empty()) pop();
  // A function's or class's body ends what its template head began.
  if (brace)
    while (!scopes_.empty() && scopes_.back().kind == ScopeKind::kTemplate) pop();
}

absl::StatusOr<int> CppWalker::template_head(int i) {
  const int open = i + 1;
  const int close = tokens_.closing_angle(open, tokens_.size());
  if (close < 0) return i + 1;
  if (close > open + 1) {
    push(ScopeKind::kTemplate);
    int begin = open + 1;
    for (int k = begin; k <= close; ++k) {
      if (tokens_.is(k, "<")) {
        const int inner = tokens_.closing_angle(k, close);
        if (inner > 0) k = inner;
      }
      if (k != close && !tokens_.is(k, ",")) continue;
      int name_end = begin;
      while (name_end < k && !tokens_.is(name_end, "=")) ++name_end;
      if (tokens_.is_name(name_end - 1) && name_end - 1 > begin)
        aliases_.declare_parameter(tokens_.text(name_end - 1), depth());
      begin = k + 1;
    }
    return close + 1;
  }
  Specialisation head;
  head.begin = close + 1;
  int k = head.begin;
  for (; k < tokens_.size() && k < head.begin + kLongestHead; ++k) {
    if (tokens_.is(k, "{") || tokens_.is(k, ";") || tokens_.tokens[k].kind >= CppTokenKind::kIf) break;
    if (tokens_.is(k, "[") && tokens_.partner[k] > k) k = tokens_.partner[k];
    if (tokens_.is(k, "__attribute__") && tokens_.is(k + 1, "(") && tokens_.partner[k + 1] > k)
      k = tokens_.partner[k + 1];
    if (tokens_.is(k, "(")) break;
    if (!tokens_.is(k, "<")) continue;
    const int closing = tokens_.closing_angle(k, tokens_.size());
    if (closing < 0) break;
    if (tokens_.is_name(k - 1) && tokens_.is(closing + 1, "(")) {
      head.name = k - 1;
      head.open_angle = k;
      head.close_angle = closing;
      head.open_paren = closing + 1;
      head.name_begin = head.name;
      while (tokens_.is(head.name_begin - 1, "::") && tokens_.is_name(head.name_begin - 2)) head.name_begin -= 2;
    }
    k = closing;
  }
  head.end = k;
  return on_specialisation(head);
}

absl::StatusOr<int> CppWalker::using_alias(int i) {
  const int end = find_semicolon(i + 3);
  const bool of_template = !scopes_.empty() && scopes_.back().kind == ScopeKind::kTemplate;
  if (!of_template)
    if (absl::Status declared = aliases_.declare(tokens_.text(i + 1), i + 3, end, depth()); !declared.ok())
      return declared;
  return end;
}

int CppWalker::find_semicolon(int i) const {
  for (; i < tokens_.size(); ++i) {
    if (tokens_.is(i, ";") || tokens_.is(i, "}")) return i;
    if (tokens_.partner[i] > i) i = tokens_.partner[i];
  }
  return tokens_.size();
}

// One past the statement that begins at `i`; -1 when that is not clear.
int CppWalker::statement_end(int i, int nested) const {
  while (nested < kDeepestStatement && i < tokens_.size()) {
    if (tokens_.is(i, "{")) return tokens_.partner[i] > i ? tokens_.partner[i] + 1 : -1;
    if (!tokens_.is(i, "if")) return find_semicolon(i) < tokens_.size() ? find_semicolon(i) + 1 : -1;
    i += tokens_.is(i + 1, "constexpr") ? 2 : 1;
    if (!tokens_.is(i, "(") || tokens_.partner[i] < i) return -1;
    const int end = statement_end(tokens_.partner[i] + 1, nested + 1);
    if (end < 0 || !tokens_.is(end, "else")) return end;
    i = end + 1;
  }
  return -1;
}

void CppWalker::discard(int i) {
  const int close = tokens_.partner[i + 2];
  if (close < 0) return;
  const CanonicalType condition = aliases_.canonical(i + 3, close);
  if (condition.dependent || (condition.text != "true" && condition.text != "false")) return;
  const int end = statement_end(close + 1, 0);
  if (end < 0) return;
  if (condition.text == "false") discarded_[close + 1] = end;
  if (condition.text == "true" && tokens_.is(end, "else")) discarded_[end + 1] = statement_end(end + 1, 0);
}

}  // namespace hearth::blobs
