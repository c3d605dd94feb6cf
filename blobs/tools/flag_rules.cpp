#include "blobs/tools/flag_rules.h"

#include <algorithm>
#include <filesystem>

namespace hearth::blobs {
namespace {

constexpr char kOutside[] = "it names a path outside of the root and the compiler's own folders";
constexpr char kRelative[] = "it names a path that is neither absolute nor below {root}";
constexpr char kUpwards[] = "a path with \"..\" in it may lead anywhere";

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

// Lists of words have a blank before and after every word.
constexpr std::string_view kExactly =
    " -O -O0 -O1 -O2 -O3 -Os -Oz -Og -Ofast -g -g0 -g1 -g2 -g3 -gline-tables-only -w -ansi -pedantic -pedantic-errors "
    "-pthread -pipe -Qunused-arguments -nogpulib -nogpuinc --offload-compress --no-offload-compress "
    "--offload-new-driver --no-offload-new-driver -stdlib=libstdc++ -stdlib=libc++ -fuse-ld=lld -fuse-ld=bfd "
    "-fuse-ld=gold -Wp,-D_GLIBCXX_ASSERTIONS -Wa,--noexecstack ";

// -fNAME and -fno-NAME; names that end in '=' take a plain value.
constexpr std::string_view kFeatures =
    // code for machines
    " PIC pic PIE pie plt semantic-interposition direct-access-external-data omit-frame-pointer function-sections "
    "data-sections unique-section-names addrsig common zero-initialized-in-bss stack-protector "
    "stack-protector-strong stack-protector-all stack-clash-protection cf-protection cf-protection= tls-model= "
    "unwind-tables asynchronous-unwind-tables use-cxa-atexit merge-all-constants ident visibility= "
    "visibility-inlines-hidden discard-value-names "
    // arithmetic
    "fast-math math-errno finite-math-only signed-zeros associative-math reciprocal-math trapping-math "
    "unsafe-math-optimizations rounding-math honor-infinities honor-nans approx-func fp-contract= fp-model= "
    "denormal-fp-math= denormal-fp-math-f32= single-precision-constant wrapv trapv strict-overflow excess-precision= "
    // GPUs
    "gpu-flush-denormals-to-zero cuda-flush-denormals-to-zero gpu-approx-transcendentals cuda-approx-transcendentals "
    "gpu-inline-threshold= gpu-max-threads-per-block= gpu-default-stream= hip-new-launch-api "
    "hip-fp32-correctly-rounded-divide-sqrt hip-kernel-arg-name offload-uniform-block "
    "offload-implicit-host-device-templates "
    // optimisation
    "strict-aliasing strict-enums delete-null-pointer-checks optimize-sibling-calls inline inline-functions "
    "inline-hint-functions inline-limit= unroll-loops unroll-all-loops vectorize tree-vectorize slp-vectorize "
    "tree-slp-vectorize builtin keep-inline-functions jump-tables "
    // language
    "exceptions cxx-exceptions rtti threadsafe-statics char8_t signed-char unsigned-char short-enums "
    "sized-deallocation aligned-allocation aligned-new aligned-new= coroutines concepts template-depth= "
    "constexpr-depth= constexpr-steps= constexpr-loop-limit= constexpr-ops-limit= bracket-depth= ms-extensions "
    "permissive operator-names gnu-keywords declspec trigraphs freestanding hosted relaxed-template-template-args "
    "access-control openmp openmp-simd native-half-type native-half-arguments-and-returns "
    // messages
    "color-diagnostics diagnostics-color diagnostics-color= diagnostics-show-option caret-diagnostics "
    "diagnostics-show-template-tree show-column message-length= max-errors= error-limit= template-backtrace-limit= "
    "constexpr-backtrace-limit= macro-backtrace-limit= ";
// As -fno-NAME only: the opposite makes another kind of result, or writes files.
constexpr std::string_view kOnlyOff = " gpu-rdc lto offload-lto modules emulated-tls crash-diagnostics ";

// -mNAME and -mno-NAME; families go on as they like ("avx512vl", "sse4.2").
constexpr std::string_view kMachine =
    " 32 64 cumode wavefrontsize64 tgsplit xnack sramecc unsafe-fp-atomics amdgpu-ieee red-zone "
    "omit-leaf-frame-pointer stackrealign abm adx aes bmi bmi2 f16c fma fma4 gfni lzcnt movbe pclmul popcnt sha vaes "
    "vpclmulqdq xsave rdrnd rdseed ";
constexpr std::string_view kMachineFamilies[] = {"sse", "ssse", "avx", "amx-"};
constexpr std::string_view kMachineValues =
    " arch= tune= cpu= cmodel= code-object-version= prefer-vector-width= fpmath= printf-kind= ";

// What the options of LLVM's code generation begin with, and words of those that write or load files.
constexpr std::string_view kPasses[] = {
    "amdgpu-",         "enable-",        "disable-",     "force-",      "max-",       "misched",     "lsr-",
    "greedy-",         "regalloc-",      "unroll-",      "pragma-",     "inline-",    "inlinehint-", "inlinecold-",
    "structurizecfg-", "simplifycfg-",   "slp-",         "vectorizer-", "vectorize-", "licm-",       "gvn-",
    "sroa-",           "early-",         "hoist-",       "sink-",       "schedule-",  "sched-",      "post-RA-",
    "phi-node-",       "two-entry-phi-", "instcombine-", "loop-",       "memdep-",    "load-store-", "attributor-"};
constexpr std::string_view kFileWords =
    " file path dir output dump dot view print plugin save record trace log debug stats report profile import export "
    "remarks server model ";

constexpr std::string_view kClangWords =
    " -fnative-half-type -fnative-half-arguments-and-returns -fallow-half-arguments-and-returns -target-feature "
    "-fcuda-allow-variadic-functions ";

constexpr std::string_view kLinkerWords =
    " --as-needed --no-as-needed --no-undefined -Bsymbolic -Bsymbolic-functions --gc-sections --no-gc-sections "
    "--hash-style=gnu --hash-style=sysv --hash-style=both --build-id --build-id=none --build-id=sha1 --build-id=md5 "
    "--strip-all --strip-debug -s -S --enable-new-dtags --disable-new-dtags --allow-shlib-undefined "
    "--no-allow-shlib-undefined --icf=safe --icf=all --icf=none -O0 -O1 -O2 -O3 ";

constexpr std::string_view kSystemFolders =
    " / /bin /home /lib /lib64 /media /mnt /opt /root /run /sbin /srv /tmp /usr /usr/include /usr/lib /usr/local "
    "/usr/share /var /var/lib /var/tmp ";
constexpr std::string_view kSystemTrees[] = {"/boot", "/dev", "/etc", "/proc", "/sys"};

bool is_in(std::string_view word, std::string_view list) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         list.find(std::string(" ").append(word).append(" ")) != std::string_view::npos;
}

bool only(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLetters.find(c) != std::string_view::npos || kDigits.find(c) != std::string_view::npos ||
           more.find(c) != std::string_view::npos;
  });
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// One that cannot be a path, a list or an argument file.
bool is_plain_value(std::string_view text) { return only(text, "_+-.:"); }

template <std::size_t N>
bool begins_with_any(std::string_view text, const std::string_view (&list)[N]) {
  return std::any_of(std::begin(list), std::end(list), [&](std::string_view begin) { return text.starts_with(begin); });
}

bool is_feature(std::string_view name) {
  if (const auto equals = name.find('='); equals != std::string_view::npos)
    return is_in(name.substr(0, equals + 1), kFeatures) && is_plain_value(name.substr(equals + 1));
  if (!name.starts_with("no-")) return is_in(name, kFeatures) && !name.ends_with('=');
  name.remove_prefix(3);
  return is_in(name, kFeatures) || is_in(name, kOnlyOff) || (name.starts_with("builtin-") && only(name, "_-"));
}

bool is_machine_option(std::string_view name) {
  if (const auto equals = name.find('='); equals != std::string_view::npos)
    return is_in(name.substr(0, equals + 1), kMachineValues) && is_plain_value(name.substr(equals + 1));
  if (name.starts_with("no-")) name.remove_prefix(3);
  return is_in(name, kMachine) || (begins_with_any(name, kMachineFamilies) && only(name, "-."));
}

bool is_warning(std::string_view name) {
  const auto equals = std::min(name.find('='), name.size());
  return !name.empty() && only(name.substr(0, equals), "+-#") && only(name.substr(equals), "=+-#");
}

std::string normal_path(std::string_view path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

bool is_below(const std::string& path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// What -Wl, may tell the linker, word by word; an operand follows its option.
const char* why_linker(std::string_view list, const std::vector<std::string>& trees) {
  std::string_view waiting;  // option whose operand comes next
  for (bool more = true; more;) {
    const auto comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    more = comma != std::string_view::npos;
    list.remove_prefix(more ? comma + 1 : list.size());
    if (waiting == "-z" || waiting == "--exclude-libs") {
      if (word.empty() || word.starts_with('-') || !only(word, "_-=.")) return reason_to_refuse(word);
      waiting = {};
    } else if (waiting == "-rpath" || waiting == "--rpath") {
      const bool beside = word.starts_with("$ORIGIN") && word.find("..") == std::string_view::npos;
      if (const char* why = beside ? nullptr : why_path(word, trees)) return why;
      waiting = {};
    } else if (is_in(word, " -z --exclude-libs -rpath --rpath ")) {
      waiting = word;
    } else if (!is_in(word, kLinkerWords)) {
      return reason_to_refuse(word);
    }
  }
  return waiting.empty() ? nullptr : "the operand of a linker's option is missing";
}

}  // namespace

const char* why_option(std::string_view word, const std::vector<std::string>& trees) {
  if (is_in(word, kExactly)) return nullptr;
  if (word.starts_with("-Wl,")) return why_linker(word.substr(4), trees);
  if (word.starts_with("-f") && is_feature(word.substr(2))) return nullptr;
  if (word.starts_with("-m") && is_machine_option(word.substr(2))) return nullptr;
  if (word.starts_with("-W") && is_warning(word.substr(2))) return nullptr;
  for (const std::string_view name : {"-std=", "--std="})
    if (word.starts_with(name) && only(word.substr(name.size()), "+:")) return nullptr;
  for (const std::string_view name : {"--gpu-max-threads-per-block=", "-parallel-jobs="})
    if (word.starts_with(name) && is_number(word.substr(name.size()))) return nullptr;
  for (const std::string_view name :
       {"--rocm-path=", "--hip-path=", "--rocm-device-lib-path=", "--hip-device-lib-path="})
    if (word.starts_with(name)) return why_path(word.substr(name.size()), trees);
  return reason_to_refuse(word);
}

const char* why_llvm(std::string_view word) {
  std::string_view name = word.substr(word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : word.size());
  const auto equals = std::min(name.find('='), name.size());
  const std::string_view value = name.substr(std::min(equals + 1, name.size()));
  name = name.substr(0, equals);
  bool speaks_of_files = false;
  for (std::string_view rest = name; !rest.empty();) {
    const auto dash = std::min(rest.find('-'), rest.size());
    speaks_of_files = speaks_of_files || is_in(rest.substr(0, dash), kFileWords);
    rest.remove_prefix(std::min(dash + 1, rest.size()));
  }
  if (begins_with_any(name, kPasses) && only(name, "-_") && is_plain_value(value) && !speaks_of_files) return nullptr;
  return reason_to_refuse(word.starts_with("--") ? word.substr(1) : word);
}

const char* why_clang(std::string_view word) {
  if (is_in(word, kClangWords) || (word.starts_with('+') && only(word.substr(1), "-."))) return nullptr;
  return reason_to_refuse(word);
}

const char* why_language(std::string_view word) {
  return word == "hip" || word == "c++" ? nullptr : "a blob's source is HIP or C++";
}

const char* why_library(std::string_view word) {
  const bool is_name = only(word, "_+-.") && !word.starts_with('-') && word.find("..") == std::string_view::npos;
  return is_name && !word.empty() ? nullptr : "a library is given by its name, as in -lm";
}

const char* why_macro(std::string_view word) {
  const bool is_name = !word.empty() && (kLetters.find(word[0]) != std::string_view::npos || word[0] == '_');
  return is_name && word.find('\n') == std::string_view::npos ? nullptr : "it is no macro";
}

const char* why_parameter(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && only(word.substr(0, equals), "-") && is_number(word.substr(equals + 1))
             ? nullptr
             : "a parameter is a name and a number, as in inline-unit-growth=40";
}

const char* why_path(std::string_view path, const std::vector<std::string>& trees) {
  if (!path.starts_with('/')) return kRelative;
  // Not made normal: what stands before the dots may be a link, which the compiler would follow.
  for (const std::filesystem::path& part : std::filesystem::path(path))
    if (part == "..") return kUpwards;
  const std::string normal = normal_path(path);
  const bool inside = std::any_of(trees.begin(), trees.end(), [&](const std::string& tree) {
    return tree.ends_with('-') ? normal.starts_with(tree) : is_below(normal, tree);
  });
  return inside ? nullptr : kOutside;
}

std::vector<std::string> compiler_trees(const std::string& compiler) {
  std::vector<std::string> trees = {"/usr", "/opt/rocm", "/opt/rocm-"};
  const std::filesystem::path bin = std::filesystem::path(compiler).parent_path();
  if (bin.filename() == "bin" && bin.parent_path() != "/") trees.push_back(bin.parent_path().string());
  return trees;
}

const char* why_root(std::string_view root) {
  const std::string normal = normal_path(root);
  const bool is_systems =
      is_in(normal, kSystemFolders) || std::any_of(std::begin(kSystemTrees), std::end(kSystemTrees),
                                                   [&](std::string_view tree) { return is_below(normal, tree); });
  return is_systems ? "it is a folder of the system's, or of all users'; a root is a folder of sources" : nullptr;
}

}  // namespace hearth::blobs
