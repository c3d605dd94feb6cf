#include "blobs/tools/alias_table.h"

#include <algorithm>

#include "base/text.h"
#include "blobs/tools/integer_folding.h"

namespace hearth::blobs {
namespace {

// Aliases of aliases may double at each step; no trait of a kernel is a thousandth of this.
constexpr std::size_t kLongestType = 16 << 10;

bool plain_number(std::string_view text) {
  return !text.empty() && (text[0] != '0' || text.size() == 1) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether folding is worth a try.
bool looks_constant(std::string_view text) {
  if (text.empty() || plain_number(text)) return false;
  const char c = text[0];
  return (c >= '0' && c <= '9') || c == '(' || c == '-' || c == '+' || c == '!' || c == '~' ||
         text.starts_with("true") || text.starts_with("false");
}

void note(std::string* field, const std::string& text) {
  if (field->empty()) *field = text;
}

void inherit(CanonicalType* out, const CanonicalType& part) {
  out->dependent |= part.dependent;
  note(&out->unknown, part.unknown);
  note(&out->ambiguous, part.ambiguous);
}

// Takes `qualifier` from the end of `text` where it is.
void drop_suffix(std::string* text, std::string_view qualifier) {
  if (text->ends_with(qualifier)) text->resize(text->size() - qualifier.size());
}

}  // namespace

void AliasTable::push(std::string_view name, Entry entry) {
  entries_[name].push_back(std::move(entry));
  order_.push_back(name);
}

const AliasTable::Entry* AliasTable::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() || found->second.empty() ? nullptr : &found->second.back();
}

absl::Status AliasTable::declare(std::string_view name, int begin, int end, int depth) {
  CanonicalType type = argument(begin, end);
  if (type.text.size() > kLongestType) {
    type.text = std::string(name);
    note(&type.ambiguous, str_cat("alias ", name, " is longer than ", kLongestType, " characters"));
  }
  const int line = tokens_.line(begin);
  const Entry* before = find(name);
  if (before != nullptr && before->depth == depth && !before->parameter) {
    if (before->type.text == type.text) return absl::OkStatus();
    return absl::InvalidArgumentError(str_cat(file_, ":", line, ": alias ", name, " is ", type.text, ", but line ",
                                              before->line, " of the same scope made it ", before->type.text));
  }
  push(name, {std::move(type), depth, line, false});
  return absl::OkStatus();
}

void AliasTable::declare_parameter(std::string_view name, int depth) { push(name, {{}, depth, 0, true}); }

void AliasTable::rewind(std::size_t mark) {
  while (order_.size() > mark) {
    entries_[order_.back()].pop_back();
    order_.pop_back();
  }
}

void AliasTable::set_aside(std::size_t mark, std::vector<SetAside>* out) {
  for (std::size_t i = order_.size(); i > mark; --i) {
    std::vector<Entry>& entries = entries_[order_[i - 1]];
    if (!entries.back().parameter)
      out->push_back({order_[i - 1], entries.back().depth, entries.back().line, std::move(entries.back().type)});
    entries.pop_back();
  }
  order_.resize(std::min(mark, order_.size()));
}

void AliasTable::restore(std::vector<SetAside> branches) {
  for (SetAside& alias : branches) {
    const auto found = entries_.find(alias.name);
    Entry* now = found == entries_.end() || found->second.empty() ? nullptr : &found->second.back();
    if (now == nullptr || now->depth != alias.depth || now->parameter) {
      push(alias.name, {std::move(alias.type), alias.depth, alias.line, false});
    } else if (now->type.text != alias.type.text) {
      note(&now->type.ambiguous,
           str_cat("alias ", alias.name, " has two meanings under #if, at lines ", alias.line, " and ", now->line));
    }
  }
}

CanonicalType AliasTable::argument(int begin, int end) const {
  while (begin < end && tokens_.is(begin, "::")) ++begin;
  CanonicalType out;
  append(begin, end, &out);
  if (looks_constant(out.text))
    if (std::optional<std::string> folded = fold_constant(out.text)) out.text = *std::move(folded);
  return out;
}

CanonicalType AliasTable::canonical(int begin, int end) const { return argument(begin, end); }

std::vector<CanonicalType> AliasTable::arguments(int open, int close) const {
  std::vector<CanonicalType> out;
  for (const auto& [begin, end] : argument_ranges(open, close)) out.push_back(argument(begin, end));
  return out;
}

std::vector<std::pair<int, int>> AliasTable::argument_ranges(int open, int close) const {
  std::vector<std::pair<int, int>> out;
  int begin = open + 1;
  for (int i = begin; i <= close; ++i) {
    if (i == close || tokens_.is(i, ",")) {
      if (begin < i || i != close || !out.empty()) out.emplace_back(begin, i);
      begin = i + 1;
    } else if (tokens_.partner[i] > i) {
      i = tokens_.partner[i];
    } else if (tokens_.is(i, "<")) {
      const int inner = tokens_.closing_angle(i, close);
      if (inner > 0) i = inner;
    }
  }
  return out;
}

void AliasTable::append(int begin, int end, CanonicalType* out) const {
  for (int i = begin; i < end && out->text.size() <= 2 * kLongestType; ++i) {
    if (tokens_.tokens[i].kind >= CppTokenKind::kIf) {
      note(&out->ambiguous, str_cat("a directive stands in the type, at line ", tokens_.line(i)));
    } else if (tokens_.is_name(i)) {
      i = append_name(i, end, out);
    } else {
      append_cpp_text(&out->text, tokens_.text(i));
    }
  }
}

// The name at `i` with the template arguments that follow it; gives the index of the last token used.
int AliasTable::append_name(int i, int end, CanonicalType* out) const {
  const std::string_view name = tokens_.text(i);
  if (name == "struct" || name == "class") return i;
  const bool member = i > 0 && (tokens_.is(i - 1, "::") || tokens_.is(i - 1, ".") || tokens_.is(i - 1, "->"));
  const Entry* entry = member && !out->text.empty() ? nullptr : find(name);
  const int close = i + 1 < end && tokens_.is(i + 1, "<") ? tokens_.closing_angle(i + 1, end) : -1;
  if (entry != nullptr) {
    out->dependent |= entry->parameter;
    inherit(out, entry->type);
    append_cpp_text(&out->text, entry->parameter ? name : std::string_view(entry->type.text));
  }
  if (close < 0) {
    if (entry != nullptr) return i;
    if (!member && name.find("trait") != std::string_view::npos && !tokens_.is(i + 1, "::"))
      note(&out->unknown, std::string(name));
    append_cpp_text(&out->text, name);
    return i;
  }
  const std::vector<CanonicalType> parts = arguments(i + 1, close);
  for (const CanonicalType& part : parts) inherit(out, part);
  if (name == "conditional_t" && parts.size() == 3 && (parts[0].text == "true" || parts[0].text == "false")) {
    drop_suffix(&out->text, "std::");
    append_cpp_text(&out->text, parts[parts[0].text == "true" ? 1 : 2].text);
    return close;
  }
  const bool known = parts.size() == 2 && !parts[0].dependent && !parts[1].dependent;
  if (name == "is_same_v" && known) {
    drop_suffix(&out->text, "std::");
    append_cpp_text(&out->text, parts[0].text == parts[1].text ? "true" : "false");
    return close;
  }
  if (entry == nullptr) append_cpp_text(&out->text, name);
  out->text += '<';
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k > 0) out->text += ',';
    out->text += parts[k].text;
  }
  out->text += '>';
  return close;
}

}  // namespace hearth::blobs
