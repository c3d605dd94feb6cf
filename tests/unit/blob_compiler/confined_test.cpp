// In a worker's cage (Landlock): compiles write in their folder and nowhere else.
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>

#include "tests/support/skip.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;

namespace {

bool confine_writes(const std::string& folder) {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                 LANDLOCK_ACCESS_FS_MAKE_SYM;
  const int rules = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (rules < 0) return false;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = attributes.handled_access_fs;
  rule.parent_fd = ::open(folder.c_str(), O_PATH | O_CLOEXEC);
  return ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

constexpr int kNoLandlock = 77;
constexpr char kHipSource[] =
    "#include <hip/hip_runtime.h>\n"
    "template <class T> T hearth_f_(T x);\n"
    "__global__ void kernel(float* p) { *p = 1; }\n"
    "template <> float hearth_f_<float>(float x) { kernel<<<1, 1>>>(0); return x; }\n";

// The exit code of `work` in a process that can write below `folder` only.
int confined(const std::string& folder, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(confine_writes(folder) ? work() : kNoLandlock);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int tell(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace

TEST_CASE("A confined process compiles host code, and HIP with a toolchain that was found before") {
  Place place;
  const std::string work = place.folder("work");
  place.set("TMPDIR", work);
  for (const char* kind : {kCxxToolchain, kHipToolchain}) {
    const auto toolchain = find_toolchain(kind);
    if (!toolchain.ok()) {
      hearth::test::skip_part(std::string(toolchain.status().message()));
      continue;
    }
    BlobSpec spec = place.spec();
    spec.toolchain = kind;
    if (spec.toolchain == kHipToolchain) {
      spec.archs = {"gfx942"};
      place.write("root/x.cpp", kHipSource);
    }
    const int code = confined(work, [&] { return tell(compile_blob(spec, *toolchain, {.folder = work}).status()); });
    if (code == kNoLandlock) SKIP_CASE("this kernel has no Landlock");
    INFO(kind);
    CHECK(code == 0);
  }
}

TEST_CASE("A confined process that has to find its toolchain keeps it below TMPDIR") {
  Place place;
  const std::string work = place.folder("work");
  place.set("TMPDIR", work);
  place.set("XDG_CACHE_HOME", place.folder("empty-cache"));
  for (const char* kind : {kCxxToolchain, kHipToolchain}) {
    const auto outside = find_toolchain(kind, place.path("elsewhere"));
    if (!outside.ok()) {
      hearth::test::skip_part(std::string(outside.status().message()));
      continue;
    }
    const int code = confined(work, [&] {
      const auto toolchain = find_toolchain(kind);
      if (toolchain.ok() && toolchain->kind == kHipToolchain) return tell(toolchain->supports("gfx942"));
      return tell(toolchain.status());
    });
    if (code == kNoLandlock) SKIP_CASE("this kernel has no Landlock");
    INFO(kind);
    CHECK(code == 0);
  }
}
