#include "blobs/tools/cpp_tokens.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

// A list of template arguments longer than this is not one: keeps a run of `<` from being read again and again.
constexpr int kLongestAngleList = 1024;
constexpr std::size_t kDeepest = 1000;  // brackets or conditionals within each other

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return starts_name(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(std::string_view name, std::string_view source) : name_(name), source_(source) { out_.source = source; }

  absl::StatusOr<CppTokens> run() {
    if (source_.size() > std::numeric_limits<std::uint32_t>::max() / 2) return bad("is larger than 2 GiB");
    out_.tokens.reserve(source_.size() / 4);
    while (status_.ok() && at_ < source_.size()) step();
    if (!status_.ok()) return status_;
    if (!conditionals_.empty()) {
      line_ = conditionals_.back().line;
      return bad("#if has no #endif; the file is truncated or not what the generator wrote");
    }
    HEARTH_RETURN_IF_ERROR(match_brackets());
    return std::move(out_);
  }

 private:
  struct Conditional {
    int line;
    bool hidden;        // in this branch
    bool hidden_outer;  // around the whole conditional
    bool taken;         // a branch that is known to be compiled came before (`#if 1`)
  };

  absl::Status bad(const std::string& what) const {
    return absl::InvalidArgumentError(str_cat(name_, ":", line_, ": ", what));
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  // Whether what is read now is left out.
  bool hidden() const { return !conditionals_.empty() && conditionals_.back().hidden; }

  void push(CppTokenKind kind, std::size_t begin, int line) {
    if (hidden() && kind != CppTokenKind::kIf && kind != CppTokenKind::kElse && kind != CppTokenKind::kEndif) return;
    out_.tokens.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_ - begin),
                           static_cast<std::uint32_t>(line)});
  }

  void newline() {
    ++line_;
    fresh_line_ = true;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      ++at_;
      newline();
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? 2 : 3;
      ++line_;
    } else if (c == '/' && peek(1) == '/') {
      skip_line();
    } else if (c == '/' && peek(1) == '*') {
      skip_comment();
    } else if (c == '#' && fresh_line_) {
      directive();
    } else {
      fresh_line_ = false;
      token(c);
    }
  }

  // To the end of the line, which a backslash continues.
  void skip_line() {
    while (at_ < source_.size() && source_[at_] != '\n') {
      if (source_[at_] == '\\' && peek(1) == '\n') {
        ++at_;
        ++line_;
      }
      ++at_;
    }
  }

  void skip_comment() {
    const std::size_t end = source_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      status_ = bad("comment is not closed; the file is truncated");
      return;
    }
    for (; at_ < end + 2; ++at_) line_ += source_[at_] == '\n';
  }

  void directive() {
    const std::size_t begin = at_;
    const int line = line_;
    ++at_;
    while (peek() == ' ' || peek() == '\t') ++at_;
    const std::size_t word_begin = at_;
    while (is_word(peek())) ++at_;
    const std::string_view word = source_.substr(word_begin, at_ - word_begin);
    const std::size_t rest_begin = at_;
    skip_directive();
    if (!status_.ok()) return;
    std::string_view rest = source_.substr(rest_begin, at_ - rest_begin);
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    const bool zero = rest == "0" || rest.starts_with("0 ") || rest.starts_with("0/") || rest.starts_with("0\r");
    const bool one = rest == "1" || rest.starts_with("1 ") || rest.starts_with("1/") || rest.starts_with("1\r");
    if (word == "if" || word == "ifdef" || word == "ifndef") {
      push(CppTokenKind::kIf, begin, line);
      if (conditionals_.size() >= kDeepest) status_ = bad(str_cat("#if is nested deeper than ", kDeepest));
      const bool outer = hidden();
      conditionals_.push_back({line, outer || (word == "if" && zero), outer, word == "if" && one});
    } else if (word == "else" || word == "elif" || word == "elifdef" || word == "elifndef" || word == "endif") {
      if (conditionals_.empty()) {
        status_ = bad(str_cat("#", word, " has no #if; the file is truncated or not what the generator wrote"));
        return;
      }
      Conditional& top = conditionals_.back();
      if (word == "endif") {
        conditionals_.pop_back();
        push(CppTokenKind::kEndif, begin, line);
      } else {
        top.hidden = top.hidden_outer || top.taken || (word == "elif" && zero);
        top.taken = top.taken || (word == "elif" && one);
        push(CppTokenKind::kElse, begin, line);
      }
    }
  }

  // A directive ends with its line; a comment may begin in it and end on another.
  void skip_directive() {
    while (at_ < source_.size() && source_[at_] != '\n' && status_.ok()) {
      if (source_[at_] == '\\' && peek(1) == '\n') {
        at_ += 2;
        ++line_;
      } else if (source_[at_] == '\\' && peek(1) == '\r' && peek(2) == '\n') {
        at_ += 3;
        ++line_;
      } else if (source_[at_] == '/' && peek(1) == '/') {
        skip_line();
      } else if (source_[at_] == '/' && peek(1) == '*') {
        skip_comment();
      } else {
        ++at_;
      }
    }
  }

  void token(char c) {
    const std::size_t begin = at_;
    const int line = line_;
    if (starts_name(c)) {
      while (is_word(peek())) ++at_;
      const std::string_view word = source_.substr(begin, at_ - begin);
      if (peek() == '"' && (word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R")) {
        raw_text();
        push(CppTokenKind::kText, begin, line);
      } else if ((peek() == '"' || peek() == '\'') && (word == "L" || word == "u" || word == "U" || word == "u8")) {
        text(peek());
        push(CppTokenKind::kText, begin, line);
      } else {
        push(CppTokenKind::kName, begin, line);
      }
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
      push(CppTokenKind::kNumber, begin, line);
    } else if (c == '"' || c == '\'') {
      text(c);
      push(CppTokenKind::kText, begin, line);
    } else {
      static constexpr std::array<std::string_view, 8> kPairs = {"::", "->", "<<", "<=", "==", "!=", "&&", "||"};
      ++at_;
      for (const std::string_view pair : kPairs)
        if (source_.substr(begin, 2) == pair) at_ = begin + 2;
      push(CppTokenKind::kSign, begin, line);
    }
  }

  void number() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      const char before = at_ > 0 ? source_[at_ - 1] : '\0';
      const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool hex = before == 'e' || before == 'E';
      if (is_word(c) || c == '.' || (c == '\'' && is_word(peek(1)))) {
        ++at_;
      } else if ((c == '+' || c == '-') && exponent && !(hex && is_hex_literal())) {
        ++at_;
      } else {
        return;
      }
    }
  }
  // Whether the number that at_ is in began with 0x: there e is a digit.
  bool is_hex_literal() const {
    std::size_t begin = at_;
    while (begin > 0 && (is_word(source_[begin - 1]) || source_[begin - 1] == '.')) --begin;
    return source_.substr(begin, 2) == "0x" || source_.substr(begin, 2) == "0X";
  }

  void text(char quote) {
    const int line = line_;
    for (++at_; at_ < source_.size(); ++at_) {
      if (source_[at_] == '\\') {
        ++at_;
        if (peek() == '\n') ++line_;
      } else if (source_[at_] == quote) {
        ++at_;
        return;
      } else if (source_[at_] == '\n') {
        break;
      }
    }
    line_ = line;
    if (hidden()) return;  // an apostrophe in text that is not compiled
    status_ = bad("literal is not closed on its line");
  }

  void raw_text() {
    const std::size_t open = source_.find('(', at_);
    std::string close;
    if (open != std::string_view::npos && open - at_ <= 17)
      close = str_cat(")", source_.substr(at_ + 1, open - at_ - 1), "\"");
    const std::size_t end = close.empty() ? std::string_view::npos : source_.find(close, open);
    if (end == std::string_view::npos) {
      status_ = bad("raw string is not closed; the file is truncated");
      return;
    }
    for (; at_ < end + close.size(); ++at_) line_ += source_[at_] == '\n';
  }

  absl::Status match_brackets() {
    const std::vector<CppToken>& tokens = out_.tokens;
    out_.partner.assign(tokens.size(), -1);
    std::vector<int> open;
    std::vector<std::vector<int>> at_if;
    for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
      if (tokens[i].kind == CppTokenKind::kIf) {
        at_if.push_back(open);
      } else if (tokens[i].kind == CppTokenKind::kElse) {
        open = at_if.back();
      } else if (tokens[i].kind == CppTokenKind::kEndif) {
        at_if.pop_back();
      } else if (tokens[i].kind == CppTokenKind::kSign && tokens[i].size == 1) {
        const char c = source_[tokens[i].begin];
        line_ = static_cast<int>(tokens[i].line);
        if (c == '(' || c == '[' || c == '{') open.push_back(i);
        if (open.size() > kDeepest) return bad(str_cat("brackets are nested deeper than ", kDeepest));
        if (c != ')' && c != ']' && c != '}') continue;
        const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open.empty()) return bad(str_cat("\"", std::string(1, c), "\" closes nothing"));
        const CppToken& opener = tokens[open.back()];
        if (source_[opener.begin] != wanted)
          return bad(str_cat("\"", std::string(1, c), "\" does not close \"", source_.substr(opener.begin, 1),
                             "\" of line ", opener.line));
        out_.partner[i] = open.back();
        out_.partner[open.back()] = i;
        open.pop_back();
      }
    }
    if (open.empty()) return absl::OkStatus();
    line_ = static_cast<int>(tokens[open.back()].line);
    return bad(str_cat("\"", source_.substr(tokens[open.back()].begin, 1),
                       "\" is not closed; the file is truncated or not what the generator wrote"));
  }

  std::string_view name_;
  std::string_view source_;
  CppTokens out_;
  absl::Status status_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
  std::vector<Conditional> conditionals_;
};

}  // namespace

int CppTokens::closing_angle(int open, int end) const {
  int depth = 0;
  end = std::min(end, open + kLongestAngleList);
  for (int i = open; i < end; ++i) {
    if (tokens[i].kind != CppTokenKind::kSign) {
      if (tokens[i].kind >= CppTokenKind::kIf) return -1;
      continue;
    }
    const std::string_view sign = text(i);
    if (sign == "<") {
      ++depth;
    } else if (sign == ">") {
      if (--depth == 0) return i;
    } else if (sign == "(" || sign == "[" || sign == "{") {
      if (partner[i] < 0) return -1;
      i = partner[i];
    } else if (sign == ")" || sign == "]" || sign == "}" || sign == ";") {
      return -1;
    }
  }
  return -1;
}

std::string CppTokens::joined(int begin, int end) const {
  std::string out;
  for (int i = begin; i < end; ++i)
    if (tokens[i].kind < CppTokenKind::kIf) append_cpp_text(&out, text(i));
  return out;
}

void append_cpp_text(std::string* out, std::string_view text) {
  if (text.empty()) return;
  const char before = out->empty() ? ' ' : out->back();
  const bool runs_together = (is_word(before) && is_word(text.front())) ||
                             (before == text.front() && (before == '-' || before == '+' || before == '&'));
  if (runs_together) out->push_back(' ');
  out->append(text);
}

absl::StatusOr<CppTokens> read_cpp_tokens(std::string_view name_for_errors, std::string_view source) {
  return Lexer(name_for_errors, source).run();
}

}  // namespace hearth::blobs
