#include "blobs/tools/blob_flags.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/flag_rules.h"

namespace hearth::blobs {
namespace {

constexpr std::string_view kHidden = "-fvisibility=hidden";

enum class Operand { kMacro, kFolder, kHeader, kSystemFolder, kLanguage, kLibrary, kLlvm, kClang, kParameter };

struct WithOperand {
  std::string_view name;
  Operand operand;
  bool may_be_joined;  // -DX and -D X
};

// Longer names first: "-isystem/a" is no "-i".
constexpr WithOperand kWithOperand[] = {
    {"-isystem", Operand::kFolder, true},    {"-idirafter", Operand::kFolder, true},
    {"-iquote", Operand::kFolder, true},     {"-include", Operand::kHeader, true},
    {"-imacros", Operand::kHeader, true},    {"-mllvm=", Operand::kLlvm, true},
    {"-mllvm", Operand::kLlvm, false},       {"-Xclang=", Operand::kClang, true},
    {"-Xclang", Operand::kClang, false},     {"--param=", Operand::kParameter, true},
    {"--param", Operand::kParameter, false}, {"-D", Operand::kMacro, true},
    {"-U", Operand::kMacro, true},           {"-I", Operand::kFolder, true},
    {"-L", Operand::kSystemFolder, true},    {"-l", Operand::kLibrary, true},
    {"-x", Operand::kLanguage, true},
};

class FlagCheck {
 public:
  FlagCheck(const BlobSpec& spec, const std::string& compiler)
      : spec_(spec), system_(compiler_trees(compiler)), trees_(system_) {
    trees_.push_back(spec.root);
  }

  absl::Status refuse(const std::string& flag, const char* why) const {
    return absl::InvalidArgumentError(str_cat(spec_.stem, ": flag \"", flag, "\" is refused: ", why));
  }

  // Judges the option that begins at word `i`; gives the number of its words.
  absl::StatusOr<std::size_t> judge(const std::vector<std::string>& words, std::size_t i) const {
    const std::string& word = words[i];
    for (const WithOperand& option : kWithOperand) {
      if (word == option.name && !word.ends_with('=')) {
        if (i + 1 == words.size()) return refuse(word, "its operand is missing");
        if (const char* why = why_operand(option.operand, words[i + 1]))
          return refuse(str_cat(word, " ", words[i + 1]), why);
        return std::size_t{2};
      }
      if (!option.may_be_joined || !word.starts_with(option.name)) continue;
      if (const char* why = why_operand(option.operand, std::string_view(word).substr(option.name.size())))
        return refuse(word, is_known(word) ? why : reason_to_refuse(word));
      return std::size_t{1};
    }
    if (const char* why = why_option(word, trees_)) return refuse(word, why);
    return std::size_t{1};
  }

 private:
  // -include-pch and -iplugindir are other options than -include and -I…: told by what is wrong with them.
  static bool is_known(std::string_view word) {
    return !word.starts_with("-include-") && !word.starts_with("-imacros-");
  }

  const char* why_operand(Operand kind, std::string_view text) const {
    if (text.starts_with('@')) return reason_to_refuse(text);
    switch (kind) {
      case Operand::kMacro:
        return why_macro(text);
      case Operand::kFolder:
      case Operand::kHeader:
        return why_path(text, trees_);
      case Operand::kSystemFolder:
        return why_path(text, system_);  // a linker takes a text there for a script of commands
      case Operand::kLanguage:
        return why_language(text);
      case Operand::kLibrary:
        return why_library(text);
      case Operand::kLlvm:
        return why_llvm(text);
      case Operand::kClang:
        return why_clang(text);
      case Operand::kParameter:
        return why_parameter(text);
    }
    return "it is not understood";
  }

  const BlobSpec& spec_;
  const std::vector<std::string> system_;
  std::vector<std::string> trees_;
};

}  // namespace

std::string expand_root(std::string_view text, std::string_view root) {
  std::string expanded;
  for (auto mark = text.find(kRootMark); mark != std::string_view::npos; mark = text.find(kRootMark)) {
    str_append(&expanded, text.substr(0, mark), root);
    text.remove_prefix(mark + kRootMark.size());
  }
  return expanded.append(text);
}

absl::StatusOr<std::vector<std::string>> usable_flags(const BlobSpec& spec, const std::string& compiler) {
  const FlagCheck check(spec, compiler);
  if (const char* why = why_root(spec.root))
    return absl::InvalidArgumentError(str_cat(spec.stem, ": root \"", spec.root, "\" is refused: ", why));
  std::vector<std::string> expanded, usable;
  for (const std::string& flag : spec.flags) {
    if (flag.empty() || flag.find('\0') != std::string::npos)
      return check.refuse(flag, "it is empty or holds a zero byte");
    expanded.push_back(expand_root(flag, spec.root));
  }
  for (std::size_t i = 0; i < expanded.size();) {
    HEARTH_ASSIGN_OR_RETURN(const auto words, check.judge(expanded, i));
    for (std::size_t k = 0; k < words; ++k, ++i)
      if (expanded[i] != kHidden) usable.push_back(std::move(expanded[i]));
  }
  return usable;
}

bool has_optimisation(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) { return flag.starts_with("-O"); });
}

}  // namespace hearth::blobs
