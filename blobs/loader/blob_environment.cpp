#include "blobs/loader/blob_environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/own_place.h"
#include "blobs/loader/blob_codes.h"

namespace hearth::blob {
namespace {

std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string() : value;
}

int seconds(const char* name, int otherwise, int least) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || value < least || value > INT_MAX / 1000)
    throw BlobError(kInvalidArgument, std::string(name) + "=\"" + text + "\" is not a number of seconds from " +
                                          std::to_string(least) + " to " + std::to_string(INT_MAX / 1000));
  return static_cast<int>(value);
}

// A relative path would be of the current folder, which may be anybody's.
void refuse_relative(const char* name, const std::string& path) {
  if (!path.empty() && path[0] != '/')
    throw BlobError(kInvalidArgument, std::string(name) + "=\"" + path + "\" is not an absolute path");
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? path : resolved;
}

std::string below(const std::string& folder, const std::string& path) {
  return !path.empty() && path[0] == '/' ? path : folder + "/" + path;
}

std::string find_root(const Library& library, const std::string& folder, const std::string& file) {
  std::string chosen = variable("CK_JIT_ROOT");
  const char* source = "CK_JIT_ROOT";
  if (chosen.empty()) {
    chosen = library.default_root;
    source = "the root that was baked into the library";
  }
  if (chosen.empty()) {
    chosen = "ck_jit";
    source = "the folder beside the library";
  }
  const std::string root = below(folder, chosen);
  if (is_folder(root)) return absolute(root);
  // A library that is reached through a link: its sources are where it really is.
  const std::string real = below(folder_of(absolute(file)), chosen);
  if (is_folder(real)) return absolute(real);
  throw BlobError(kNotFound, "there is no folder " + root + " (" + source +
                                 "); set CK_JIT_ROOT to the folder that holds the blobs' sources, or keep it beside " +
                                 library.name + ".so");
}

}  // namespace

BlobEnvironment read_environment(const Library& library) {
  BlobEnvironment out;
  // Never the current folder, which may be anybody's.
  const std::string file = runtime::library_file(&library);
  if (file.empty())
    throw BlobError(kFailedPrecondition,
                    "cannot tell in which file " + std::string(library.name) + " lies (is /proc mounted?)");
  out.library_folder = absolute(folder_of(file));
  out.root = find_root(library, out.library_folder, file);

  std::string name = variable("CK_JIT_NAME");
  if (name.empty()) name = library.default_name;
  if (name.empty()) name = "ck_jit";
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    throw BlobError(kInvalidArgument, "CK_JIT_NAME=\"" + name + "\" is not the name of a folder");
  const std::string chosen_cache = variable("CK_JIT_CACHE_DIR");
  const std::string cache_home = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (!chosen_cache.empty() && chosen_cache[0] != '/') {
    char here[PATH_MAX];
    out.cache_folder = below(getcwd(here, sizeof here) == nullptr ? "." : here, chosen_cache);
  } else if (!chosen_cache.empty()) {
    out.cache_folder = chosen_cache;
  } else if (!cache_home.empty() && cache_home[0] == '/') {  // a relative one is to be ignored, says its specification
    out.cache_folder = cache_home + "/" + name;
  } else if (!home.empty()) {
    out.cache_folder = home + "/.cache/" + name;
  }

  const std::string mode = variable("HEARTH_BLOB_MODE");
  if (mode == "daemon") {
    out.mode = BlobMode::kDaemon;
  } else if (mode == "direct" || (mode.empty() && !chosen_cache.empty()) || (mode == "auto" && !chosen_cache.empty())) {
    out.mode = BlobMode::kDirect;
  } else if (!mode.empty() && mode != "auto") {
    throw BlobError(kInvalidArgument, "HEARTH_BLOB_MODE=\"" + mode + "\" is none of auto, daemon, direct");
  }

  out.client = variable("HEARTH_BLOB_CLIENT");  // by its name alone the dynamic linker finds it, as any library
  if (out.client.find('/') != std::string::npos) refuse_relative("HEARTH_BLOB_CLIENT", out.client);
  out.compiler = variable("HEARTH_BLOBC");
  refuse_relative("HEARTH_BLOBC", out.compiler);
  if (out.compiler.empty()) out.compiler = out.root + "/hearth-blobc";
  const std::string verbose = variable("CK_JIT_VERBOSE");
  out.verbose = !verbose.empty() && verbose != "0";
  out.timeout_seconds = seconds("HEARTH_BLOB_TIMEOUT_S", 900, 1);
  return out;
}

int retry_seconds() { return seconds("HEARTH_BLOB_RETRY_S", 30, 0); }

}  // namespace hearth::blob
