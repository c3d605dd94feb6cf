// FlagRules: the compiler options that a blob may have. An allow list: an option that is not here is refused, whatever
// it does, because the next compiler has options that this one has not.
//
// Each function judges one word, or one path, with {root} expanded; nullptr: it may pass, else the reason for people.
// Pure; thread-safe. Example:
//   if (const char* why = why_option("-fplugin=x.so")) return refuse(why);   // "it loads a plug-in into the compiler"
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

// An option of one word that names no file: "-O3", "-std=c++20", "-ffast-math", "-Wno-unused", "-Wl,-z,now".
const char* why_option(std::string_view word, const std::vector<std::string>& trees);
// What follows -mllvm, -Xclang, -x, -l, -D and -U, --param.
const char* why_llvm(std::string_view word);
const char* why_clang(std::string_view word);
const char* why_language(std::string_view word);
const char* why_library(std::string_view word);
const char* why_macro(std::string_view word);
const char* why_parameter(std::string_view word);
// A folder or file that the compiler reads: absolute, below one of the trees, without "..".
const char* why_path(std::string_view path, const std::vector<std::string>& trees);

// The folders below which compilers have their headers and libraries: /usr, /opt/rocm, "/opt/rocm-" for those of every
// version, and the home of `compiler` (/rocm of /rocm/bin/hipcc).
std::vector<std::string> compiler_trees(const std::string& compiler);
// Why a folder cannot be the root of blobs: a system's or all of somebody's files; nullptr: it can.
const char* why_root(std::string_view root);

// What is wrong with an option that no rule lets through, in the words of what it would do.
const char* reason_to_refuse(std::string_view word);

}  // namespace hearth::blobs
