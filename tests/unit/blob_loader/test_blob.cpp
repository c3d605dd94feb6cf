// A blob in miniature, compiled into several shared objects, each with one thing that a loader must find, or must
// refuse.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#ifdef TEST_BLOB_HIDDEN
#pragma GCC visibility push(hidden)
#endif

template <int>
struct Trait {};
struct Args {
  int values[40];
};

template <typename T>
int leaf_(const int& scale, Args args);
template <typename T>
std::string leaf_get_name_();

// A WEAK function under the same prefix, as every template that a blob instantiates.
template <typename T>
__attribute__((noinline)) int weak_(int x) {
  return x + static_cast<int>(sizeof(T));
}

#ifndef TEST_BLOB_ONLY_WEAK
template <>
int leaf_<Trait<1>>(const int& scale, Args args) {
#ifdef TEST_BLOB_THROWS
  throw std::runtime_error("no GPU");
#endif
  return scale * args.values[39] + weak_<char>(0) - 1;
}
template <>
std::string leaf_get_name_<Trait<1>>() {
  return "trait one";
}
#else
template <typename T>
__attribute__((noinline)) int leaf_weak_(int x) {
  return x;
}
template int leaf_weak_<int>(int);
extern "C" int unrelated() { return leaf_weak_<int>(3); }
#endif

#ifdef TEST_BLOB_AMBIGUOUS
template <>
int leaf_<Trait<2>>(const int&, Args) {
  return 2;
}
#endif

#ifdef TEST_BLOB_CONSTRUCTOR
// Leaves a file when the object is loaded.
__attribute__((constructor)) static void construct() {
  const char* path = std::getenv("TEST_BLOB_CONSTRUCTED");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "w")) std::fclose(file);
}
#endif

#ifdef TEST_BLOB_UNRESOLVED
int nowhere_defined();
extern "C" int needs_it() { return nowhere_defined(); }
#endif
