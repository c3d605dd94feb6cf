#include "compiler/blobs/blob_flags.h"

#include <algorithm>
#include <array>

#include "runtime/text.h"

namespace hearth::blobs {
namespace {

constexpr char kRuns[] = "it chooses a program that the compiler would run";
constexpr char kLoads[] = "it loads a plug-in into the compiler";
constexpr char kWrites[] = "it writes files other than the result";
constexpr char kReads[] = "it reads further arguments, or other inputs, from a file";
constexpr char kOutput[] = "what is made, and where, is not for a blob to say";
constexpr char kArch[] = "archs are a field of their own";
constexpr char kUnknown[] = "only options that change the code, not files or programs, are passed on to it";
constexpr char kNoFlag[] = "it is no flag; a blob has one source, and libraries are given as -l and -L";

struct Refused {
  std::string_view flag;
  const char* why;
};

constexpr auto kRefusedExactly = std::to_array<Refused>({
    {"-c", kOutput},
    {"-S", kOutput},
    {"-E", kOutput},
    {"-r", kOutput},
    {"-pie", kOutput},
    {"-###", kOutput},
    {"-v", kOutput},
    {"-fsyntax-only", kOutput},
    {"-fgpu-rdc", kOutput},
    {"-static", kOutput},
    {"--static", kOutput},
    {"-b", kRuns},
    {"-V", kRuns},
    {"-wrapper", kRuns},
    {"--genco", kOutput},
});
// By the beginning, so that joined operands (-ofile, -B/dir) are caught. `cpp` knows every one with one or two dashes.
constexpr auto kRefusedPrefixes = std::to_array<Refused>({
    {"-B", kRuns},
    {"--prefix", kRuns},
    {"--ld-path", kRuns},
    {"-ccc-", kRuns},
    {"--gcc-toolchain", kRuns},
    {"-gcc-toolchain", kRuns},
    {"--gcc-install-dir", kRuns},
    {"--gcc-triple", kRuns},
    {"--ptxas-path", kRuns},
    {"--driver-mode", kRuns},
    {"--linker-path", kRuns},
    {"-iplugindir", kLoads},
    {"-fplugin", kLoads},
    {"-fpass-plugin", kLoads},
    {"-specs", kReads},
    {"--specs", kReads},
    {"--config", kReads},
    {"-ivfsoverlay", kReads},
    {"-vfsoverlay", kReads},
    {"-fthinlto-index", kReads},
    {"-fprebuilt-module", kReads},
    {"-fbuild-session", kReads},
    {"-T", kReads},
    {"-fmodule", kWrites},
    {"-fimplicit-module", kWrites},
    {"-fprofile", kWrites},
    {"-fcs-profile", kWrites},
    {"-fauto-profile", kReads},
    {"--coverage", kWrites},
    {"-coverage", kWrites},
    {"-ftest-coverage", kWrites},
    {"-save-", kWrites},
    {"--save-", kWrites},
    {"-dump", kWrites},
    {"--dump", kWrites},
    {"-fdump-", kWrites},
    {"-ftime-trace", kWrites},
    {"-fsave-optimization-record", kWrites},
    {"-foptimization-record", kWrites},
    {"-fopt-info", kWrites},
    {"-fcrash-diagnostics", kWrites},
    {"-gen-reproducer", kWrites},
    {"-fdiagnostics-format=sarif", kWrites},
    {"-fdiagnostics-format=json-file", kWrites},
    {"-fdiagnostics-add-output", kWrites},
    {"-fdiagnostics-set-output", kWrites},
    {"-aux-info", kWrites},
    {"-serialize-diagnostics", kWrites},
    {"--serialize-diagnostics", kWrites},
    {"-index-", kWrites},
    {"-fcallgraph-info", kWrites},
    {"-fstack-usage", kWrites},
    {"-gsplit-dwarf", kWrites},
    {"-fproc-stat-report", kWrites},
    {"-gen-cdb", kWrites},
    {"-o", kOutput},
    {"--output", kOutput},
    {"--compile", kOutput},
    {"--assemble", kOutput},
    {"--preprocess", kOutput},
    {"-M", kOutput},
    {"--dependencies", kOutput},
    {"--user-dependencies", kOutput},
    {"--write-", kOutput},
    {"-d", kOutput},
    {"-emit-", kOutput},
    {"--analyze", kOutput},
    {"-print-", kOutput},
    {"--print-", kOutput},
    {"--help", kOutput},
    {"--version", kOutput},
    {"--hip-link", kOutput},
    {"--cuda-device-only", kOutput},
    {"--cuda-host-only", kOutput},
    {"--offload-device-only", kOutput},
    {"--offload-host-only", kOutput},
    {"--no-gpu-bundle-output", kOutput},
    {"--offload-arch", kArch},
    {"--no-offload-arch", kArch},
    {"--cuda-gpu-arch", kArch},
    {"--amdgpu-target", kArch},
});

// Options whose operand is the next word.
constexpr auto kWithOperand =
    std::to_array<std::string_view>({"-I",        "-isystem", "-iquote",  "-idirafter",   "-cxx-isystem",
                                     "-include",  "-imacros", "-iprefix", "-iwithprefix", "-iwithprefixbefore",
                                     "-isysroot", "-D",       "-U",       "-L",           "-l",
                                     "-x",        "-target",  "--param",  "-u",           "-z"});
// What the linker may be told (-Wl, -Xlinker); words without a dash are operands of those.
constexpr auto kLinker = std::to_array<std::string_view>({"-z",
                                                          "-rpath",
                                                          "--rpath",
                                                          "--as-needed",
                                                          "--no-as-needed",
                                                          "-Bsymbolic",
                                                          "--no-undefined",
                                                          "--gc-sections",
                                                          "--no-gc-sections",
                                                          "-O",
                                                          "--hash-style=",
                                                          "--build-id",
                                                          "--strip-",
                                                          "-s",
                                                          "--exclude-libs",
                                                          "--enable-new-dtags",
                                                          "--disable-new-dtags",
                                                          "-h",
                                                          "-u",
                                                          "--allow-",
                                                          "--no-allow-",
                                                          "--unresolved-symbols=",
                                                          "--start-group",
                                                          "--end-group",
                                                          "-Bstatic",
                                                          "-Bdynamic",
                                                          "--push-state",
                                                          "--pop-state",
                                                          "--sort-",
                                                          "--icf="});
constexpr auto kClang = std::to_array<std::string_view>(
    {"-f", "-W", "-D", "-U", "-m", "-O", "-target-feature", "+", "-disable-", "-std=", "-nostd", "-g"});

bool begins_with_any(std::string_view text, const auto& list) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view begin) { return text.starts_with(begin); });
}

const char* why_refused(std::string_view flag) {
  if (flag.starts_with('@')) return kReads;
  for (const Refused& refused : kRefusedExactly)
    if (flag == refused.flag) return refused.why;
  for (const Refused& refused : kRefusedPrefixes)
    if (flag.starts_with(refused.flag)) return refused.why;
  if (flag.starts_with("-fuse-ld=") && flag.find('/') != std::string_view::npos) return kRuns;
  return flag.starts_with('-') ? nullptr : kNoFlag;
}

const char* why_linker(std::string_view word) {
  return word.starts_with('@') ? kReads : word.starts_with('-') && !begins_with_any(word, kLinker) ? kUnknown : nullptr;
}

// Options of LLVM's passes: many, and harmless but for those that load or write.
const char* why_llvm(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  if (!word.starts_with('-')) return kNoFlag;
  if (name.find("load") != std::string_view::npos && name.find("plugin") != std::string_view::npos) return kLoads;
  if (name == "-load" || name == "--load") return kLoads;
  for (const std::string_view part : {"file", "output", "path", "-dir", "dot-", "view-", "dump", "save-", "record"})
    if (name.find(part) != std::string_view::npos) return kWrites;
  return nullptr;
}

const char* why_clang(std::string_view word) {
  if (const char* why = why_refused(word); why != nullptr && !word.starts_with('+') && !word.starts_with("-disable-"))
    return why;
  return begins_with_any(word, kClang) && word != "-mllvm" && !word.starts_with("-main") ? nullptr : kUnknown;
}

const char* why_preprocessor(std::string_view word) {
  return word.starts_with("-D") || word.starts_with("-U") ? nullptr : kUnknown;
}

const char* why_assembler(std::string_view word) {
  return word.starts_with("-m") || word == "--noexecstack" || word.starts_with("--compress-debug") ? nullptr : kUnknown;
}

using Judge = const char* (*)(std::string_view);

const char* why_in_list(std::string_view list, Judge judge) {
  for (;;) {
    const auto comma = list.find(',');
    if (const char* why = judge(list.substr(0, comma))) return why;
    if (comma == std::string_view::npos) return nullptr;
    list.remove_prefix(comma + 1);
  }
}

// How the word after `flag` is judged; null when it is none of its.
Judge judge_of_next(std::string_view flag) {
  if (flag == "-mllvm") return why_llvm;
  if (flag == "-Xclang") return why_clang;
  if (flag == "-Xlinker") return why_linker;
  if (flag == "-Xpreprocessor") return why_preprocessor;
  if (flag == "-Xassembler") return why_assembler;
  if (flag.starts_with("-Xarch_")) return why_refused;
  if (flag.starts_with("-X")) return [](std::string_view) -> const char* { return kUnknown; };
  if (std::find(kWithOperand.begin(), kWithOperand.end(), flag) != kWithOperand.end())
    return [](std::string_view word) -> const char* { return word.starts_with('@') ? kReads : nullptr; };
  return nullptr;
}

const char* why_joined(std::string_view flag) {
  if (flag.starts_with("-Wl,")) return why_in_list(flag.substr(4), why_linker);
  if (flag.starts_with("-Wp,")) return why_in_list(flag.substr(4), why_preprocessor);
  if (flag.starts_with("-Wa,")) return why_in_list(flag.substr(4), why_assembler);
  if (flag.starts_with("-mllvm=")) return why_llvm(flag.substr(7));
  if (flag.starts_with("-Xclang=")) return why_clang(flag.substr(8));
  return nullptr;
}

absl::Status refuse(const BlobSpec& spec, std::string_view flag, const char* why) {
  return absl::InvalidArgumentError(str_cat(spec.stem, ": flag \"", flag, "\" is refused: ", why));
}

}  // namespace

std::string expand_root(std::string_view text, std::string_view root) {
  std::string expanded;
  for (auto mark = text.find(kRootMark); mark != std::string_view::npos; mark = text.find(kRootMark)) {
    str_append(&expanded, text.substr(0, mark), root);
    text.remove_prefix(mark + kRootMark.size());
  }
  return expanded.append(text);
}

absl::StatusOr<std::vector<std::string>> usable_flags(const BlobSpec& spec) {
  std::vector<std::string> usable;
  for (std::size_t i = 0; i < spec.flags.size(); ++i) {
    const std::string& flag = spec.flags[i];
    if (flag.find('\0') != std::string::npos || flag.empty())
      return refuse(spec, flag, "it is empty or holds a zero byte");
    if (const char* why = why_refused(flag)) return refuse(spec, flag, why);
    if (const char* why = why_joined(flag)) return refuse(spec, flag, why);
    if (flag.starts_with("-fvisibility=hidden")) continue;
    usable.push_back(expand_root(flag, spec.root));
    const Judge judge = judge_of_next(flag);
    if (judge == nullptr) continue;
    if (++i == spec.flags.size()) return refuse(spec, flag, "its operand is missing");
    const std::string& operand = spec.flags[i];
    if (operand.empty() || operand.find('\0') != std::string::npos)
      return refuse(spec, flag, "its operand is empty or holds a zero byte");
    if (const char* why = judge(operand)) return refuse(spec, str_cat(flag, " ", operand), why);
    usable.push_back(expand_root(operand, spec.root));
  }
  return usable;
}

bool has_optimisation(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) { return flag.starts_with("-O"); });
}

}  // namespace hearth::blobs
