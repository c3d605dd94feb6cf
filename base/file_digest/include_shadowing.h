// Shadowing files of a compile: those that an include could have found instead of one of the files it was made of, because
// they lie in a folder it looks into and end in the same names. That they were passed over says that the compiler does
// not take them; one that appears later may be taken, so results made before it are void.
//
// Folders looked into: those of -I, -iquote, -isystem, -idirafter, of the source, and of every file used but those of
// the system that lie below none of these. More are looked at than a compiler would: that costs a compile, never a
// stale result. Not seen: what `__has_include` asks for in vain. Paths below the root begin with "{root}". Example:
//   std::vector<std::string> now = shadowing_files({.root = "/r", .source = "x.cpp", .flags = flags}, used, files);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_digest/file_digest_cache.h"

namespace hearth::files {

// What says where a compile looks.
struct Compile {
  std::string root;                // absolute
  std::string source;              // below the root
  std::vector<std::string> flags;  // folders begin with '/' or "{root}"; others are not looked into
};

// Sorted; nothing that is in `used`. `watched`, when given, gets the folders looked into.
std::vector<std::string> shadowing_files(const Compile& compile, const std::vector<std::string>& used,
                                         FileDigestCache& files, FileSnapshot* watched = nullptr);

// Whether one of them came, or changed, at that moment or later: a compile that began then may not have seen it.
bool any_since(std::int64_t moment_ns, const std::vector<std::string>& shadowing, const std::string& root);

// "{root}/x" ↔ "ROOT/x".
std::string with_root(const std::string& path, const std::string& root);
std::string without_root(const std::string& path, const std::string& root);

}  // namespace hearth::files
