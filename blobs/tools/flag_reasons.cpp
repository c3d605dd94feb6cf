// Reasons to refuse, for people: what an option that no rule lets through would do. Nothing depends on this table but
// the text of an error.
#include <array>

#include "blobs/tools/flag_rules.h"

namespace hearth::blobs {
namespace {

constexpr char kRuns[] = "it chooses a program that the compiler would run";
constexpr char kLoads[] = "it loads a plug-in into the compiler";
constexpr char kWrites[] = "it writes files other than the result";
constexpr char kReads[] = "it reads further arguments, or other inputs, from a file";
constexpr char kOutput[] = "what is made, and where, is not for a blob to say";
constexpr char kArch[] = "archs are a field of their own";
constexpr char kForwards[] = "it hands an option to a part of the compiler, where the options of blobs are not known";
constexpr char kNoFlag[] = "it is no flag; a blob has one source, and libraries are given as -l and -L";
constexpr char kUnknown[] = "it is none of the options that a blob may have";

struct Reason {
  std::string_view beginning;
  const char* why;
};

constexpr auto kReasons = std::to_array<Reason>({
    {"@", kReads},
    {"-B", kRuns},
    {"--prefix", kRuns},
    {"-fuse-ld", kRuns},
    {"--ld-path", kRuns},
    {"-wrapper", kRuns},
    {"-ccc-", kRuns},
    {"--gcc-", kRuns},
    {"-gcc-", kRuns},
    {"--ptxas-path", kRuns},
    {"--driver-mode", kRuns},
    {"--linker-path", kRuns},
    {"-no-integrated-", kRuns},
    {"-fno-integrated-", kRuns},
    {"-fplugin", kLoads},
    {"-fpass-plugin", kLoads},
    {"-iplugindir", kLoads},
    {"-load", kLoads},
    {"-add-plugin", kLoads},
    {"-plugin", kLoads},
    {"-specs", kReads},
    {"--specs", kReads},
    {"-script", kReads},
    {"--script", kReads},
    {"-T", kReads},
    {"--config", kReads},
    {"-ivfsoverlay", kReads},
    {"-vfsoverlay", kReads},
    {"-mlink-", kReads},
    {"-include-pch", kReads},
    {"-fthinlto-index", kReads},
    {"-fprebuilt-module", kReads},
    {"-fauto-profile", kReads},
    {"-fprofile-use", kReads},
    {"-fsanitize-ignorelist", kReads},
    {"--embed-dir", kReads},
    {"-fprofile", kWrites},
    {"-fcs-profile", kWrites},
    {"-fmodule", kWrites},
    {"--coverage", kWrites},
    {"-coverage", kWrites},
    {"-ftest-coverage", kWrites},
    {"-save-", kWrites},
    {"--save-", kWrites},
    {"-dump", kWrites},
    {"-fdump-", kWrites},
    {"-ftime-trace", kWrites},
    {"-fsave-optimization-record", kWrites},
    {"-foptimization-record", kWrites},
    {"-fopt-info", kWrites},
    {"-fcrash-diagnostics", kWrites},
    {"-gen-", kWrites},
    {"-fdiagnostics-", kWrites},
    {"-aux-info", kWrites},
    {"-serialize-diagnostics", kWrites},
    {"--serialize-diagnostics", kWrites},
    {"-index-", kWrites},
    {"-fcallgraph-info", kWrites},
    {"-fstack-usage", kWrites},
    {"-gsplit-dwarf", kWrites},
    {"-fproc-stat-report", kWrites},
    {"-info-output-file", kWrites},
    {"-pass-remarks-output", kWrites},
    {"-Map", kWrites},
    {"-c", kOutput},
    {"-S", kOutput},
    {"-E", kOutput},
    {"-r", kOutput},
    {"-o", kOutput},
    {"--output", kOutput},
    {"-M", kOutput},
    {"-d", kOutput},
    {"-pie", kOutput},
    {"-shared", kOutput},
    {"-static", kOutput},
    {"--static", kOutput},
    {"-emit-", kOutput},
    {"--analyze", kOutput},
    {"-print-", kOutput},
    {"--print-", kOutput},
    {"--help", kOutput},
    {"--version", kOutput},
    {"-###", kOutput},
    {"-v", kOutput},
    {"-fsyntax-only", kOutput},
    {"-fgpu-rdc", kOutput},
    {"--genco", kOutput},
    {"--hip-link", kOutput},
    {"--cuda-device-only", kOutput},
    {"--cuda-host-only", kOutput},
    {"--offload-device-only", kOutput},
    {"--offload-host-only", kOutput},
    {"--offload-arch", kArch},
    {"--no-offload-arch", kArch},
    {"--cuda-gpu-arch", kArch},
    {"--amdgpu-target", kArch},
    {"-X", kForwards},
    {"-Wa,", kForwards},
    {"-Wp,", kForwards},
});

}  // namespace

const char* reason_to_refuse(std::string_view word) {
  for (const Reason& reason : kReasons)
    if (word.starts_with(reason.beginning)) return reason.why;
  return word.starts_with('-') ? kUnknown : kNoFlag;
}

}  // namespace hearth::blobs
