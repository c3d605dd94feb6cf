// How compilers are found, what their digest covers, and what is remembered.
#include "blobs/tools/toolchain.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "blobs/library/manifest.h"
#include "blobs/tools/isa_bitcode.h"
#include "blobs/tools/toolchain_search.h"
#include "tests/support/skip.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;
namespace fs = std::filesystem;

TEST_CASE("The variable names the compiler; a wrong one is an error, not another compiler") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("my-c++", "exit 1"));
  const auto mine = find_toolchain(kCxxToolchain);
  REQUIRE(mine.ok());
  CHECK(mine->compiler == place.path("my-c++"));
  CHECK(mine->version == "stub 1");
  place.set("HEARTH_BLOB_CXX", place.path("absent"));
  const auto absent = find_toolchain(kCxxToolchain);
  CHECK(absl::IsNotFound(absent.status()));
  says(absent.status(), "HEARTH_BLOB_CXX=" + place.path("absent"));
  place.set("HEARTH_BLOB_CXX", place.write("no-program", "text"));
  CHECK(absl::IsNotFound(find_toolchain(kCxxToolchain).status()));
  place.set("HEARTH_BLOB_CXX", place.root());
  CHECK(absl::IsNotFound(find_toolchain(kCxxToolchain).status()));
}

TEST_CASE("No compiler at all: what was looked for, and the package") {
  Place place;
  place.set("PATH", place.folder("empty"));
  const auto cxx = find_toolchain(kCxxToolchain);
  CHECK(absl::IsNotFound(cxx.status()));
  says(cxx.status(), "install the package g++");
  if (fs::exists("/opt/rocm/bin/hipcc")) SKIP_CASE("this machine has /opt/rocm");
  place.set("ROCM_PATH", place.path("rocm"));
  const auto hip = find_toolchain(kHipToolchain);
  CHECK(absl::IsNotFound(hip.status()));
  says(hip.status(), place.path("rocm/bin/hipcc"));
  says(hip.status(), "rocm-device-libs");
  CHECK(absl::IsInvalidArgument(find_toolchain("cuda").status()));
}

TEST_CASE("A changed compiler has another digest, also within this process; an equal one elsewhere has the same") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("my-c++", "exit 1"));
  const std::string first = find_toolchain(kCxxToolchain)->digest;
  CHECK(first.size() == 64);
  CHECK(find_toolchain(kCxxToolchain)->digest == first);
  place.stub("my-c++", "exit 2");
  CHECK(find_toolchain(kCxxToolchain)->digest != first);
  place.set("HEARTH_BLOB_CXX", place.stub("elsewhere/my-c++", "exit 1"));
  CHECK(find_toolchain(kCxxToolchain)->digest == first);
}

TEST_CASE(
    "What a compiler was found to be is kept for the next process, until its file changes or the record is not ours") {
  Place place;
  // Says its version to a file, too: who asks it is seen.
  const auto compiler = [&](const std::string& version) {
    const std::string file =
        place.write("my-c++", "#!/bin/sh\necho \"$1\" >> " + place.path("asked") + "\necho " + version + "\n");
    ::chmod(file.c_str(), 0755);
    return file;
  };
  place.set("HEARTH_BLOB_CXX", compiler("one"));
  const auto in_new_process = [&] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(find_toolchain(kCxxToolchain, place.path("kept")).ok() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(status == 0);
    const bool asked = fs::exists(place.path("asked"));
    fs::remove(place.path("asked"));
    return asked;
  };
  CHECK(in_new_process());
  CHECK_FALSE(in_new_process());
  compiler("three");
  CHECK(in_new_process());
  CHECK_FALSE(in_new_process());
  for (const auto& entry : fs::directory_iterator(place.path("kept"))) std::ofstream(entry.path()) << "{\"version\":1,";
  CHECK(in_new_process());  // a damaged record is none
  for (const auto& entry : fs::directory_iterator(place.path("kept"))) ::chmod(entry.path().c_str(), 0666);
  CHECK(in_new_process());  // one that others can write is none
}

TEST_CASE("A folder that others can write is refused") {
  Place place;
  const std::string open = place.folder("open");
  ::chmod(open.c_str(), 0777);
  const auto toolchain = find_toolchain(kCxxToolchain, open);
  CHECK(absl::IsPermissionDenied(toolchain.status()));
  says(toolchain.status(), open);
}

TEST_CASE("A compiler that does not answer") {
  Place place;
  const std::string file = place.write("broken", "#!/bin/sh\necho sorry >&2\nexit 1\n");
  ::chmod(file.c_str(), 0755);
  place.set("HEARTH_BLOB_CXX", file);
  const auto toolchain = find_toolchain(kCxxToolchain);
  CHECK(absl::IsNotFound(toolchain.status()));
  says(toolchain.status(), "does not answer --version");
  says(toolchain.status(), "sorry");
}

TEST_CASE("An old ROCm is passed over; asked for by name it is refused; a new one is taken") {
  Place place;
  const auto hipcc = [&](const std::string& name, const std::string& version) {
    const std::string file = place.write(name, "#!/bin/sh\necho HIP version: " + version + "\n");
    ::chmod(file.c_str(), 0755);
    return file;
  };
  place.set("HEARTH_HIPCC", hipcc("old/bin/hipcc", "5.2.21153-0"));
  const auto asked = find_toolchain(kHipToolchain);
  CHECK(absl::IsNotFound(asked.status()));
  says(asked.status(), "is of HIP 5, 6 or newer is needed");
  place.set("HEARTH_HIPCC", {});
  place.set("ROCM_PATH", place.path("old"));
  const auto passed_over = find_toolchain(kHipToolchain);
  if (passed_over.ok()) {
    CHECK(passed_over->compiler.find("clang++-19") != std::string::npos);
  } else {
    says(passed_over.status(), "clang");
  }
  hipcc("new/bin/hipcc", "6.2.41133");
  place.set("ROCM_PATH", place.path("new"));
  const auto taken = find_toolchain(kHipToolchain);
  REQUIRE(taken.ok());
  CHECK(taken->compiler == place.path("new/bin/hipcc"));
  CHECK(taken->prefix_flags == std::vector<std::string>{"-x", "hip"});
  // Updated in place: the old one is looked at again.
  place.set("ROCM_PATH", place.path("old"));
  hipcc("old/bin/hipcc", "7.0.1");
  CHECK(find_toolchain(kHipToolchain)->compiler == place.path("old/bin/hipcc"));
}

TEST_CASE("Debian's hipcc on PATH is not chosen") {
  const Place place;
  const auto places = compiler_places(kHipToolchain);
  if (!places.ok()) SKIP_CASE(std::string(places.status().message()));
  for (const CompilerPlace& found : *places) CHECK(found.compiler != "/usr/bin/hipcc");
}

TEST_CASE("Bitcode: many processes make it at once, each finds all of it; a damaged folder is made anew") {
  const Place place;
  const auto hip = debian_hip();
  const auto toolchain = find_toolchain(kHipToolchain);
  if (!hip.ok() || !toolchain.ok() || toolchain->compiler.find("clang") == std::string::npos)
    SKIP_CASE("Debian's HIP packages are not installed");
  const auto make = [&] {
    const auto library = device_library(toolchain->compiler, {"gfx942", "gfx90a", "gfx9-generic"},
                                        hip->device_libraries, place.path("bitcode"));
    if (!library.ok()) return false;
    for (const std::string& file : library->files)
      if (!fs::is_regular_file(file)) return false;
    return fs::exists(library->folder + "/oclc_isa_version_942.bc") && fs::exists(library->folder + "/ocml.bc");
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(make() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  std::size_t folders = 0;
  std::string made;
  for (const auto& entry : fs::directory_iterator(place.path("bitcode"))) ++folders, made = entry.path();
  CHECK(folders == 1);  // nothing half-made is left
  fs::remove(made + "/oclc_isa_version_942.bc");
  CHECK(make());
  const auto nowhere = device_library(toolchain->compiler, {}, place.folder("empty"), place.path("bitcode"));
  CHECK(absl::IsNotFound(nowhere.status()));
  says(nowhere.status(), "rocm-device-libs");
}

TEST_CASE("Threads that look for a toolchain at once get the same") {
  const Place place;
  std::vector<std::string> digests(8);
  std::vector<std::thread> threads;
  for (std::string& digest : digests)
    threads.emplace_back(
        [&] { digest = find_toolchain(kCxxToolchain, place.path("kept")).value_or(Toolchain{}).digest; });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& digest : digests) CHECK((digest == digests[0] && !digest.empty()));
}

TEST_CASE("The doctor: what works is tried, what does not has a reason") {
  const Place place;
  const auto reports = examine_toolchains({"gfx942", "gfx9999"});
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].kind == kHipToolchain);
  CHECK(reports[1].kind == kCxxToolchain);
  CHECK(reports[1].found);
  REQUIRE(reports[1].archs.size() == 1);
  CHECK(reports[1].archs[0].works);
  if (!reports[0].found) SKIP_CASE(reports[0].detail);
  REQUIRE(reports[0].archs.size() == 2);
  CHECK(reports[0].archs[0].works);
  CHECK_FALSE(reports[0].archs[1].works);
  CHECK(reports[0].archs[1].detail.find("does not know it") != std::string::npos);
}
