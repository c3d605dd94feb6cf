// Place: a temporary folder with a root of sources, a cache and stub compilers; environment changes are undone.
// Gone when the object is. One per test case; not for threads that change the environment. Example:
//   Place place;
//   place.write("root/x.cpp", "int f_(int);");
//   place.set("HEARTH_BLOB_CXX", place.stub("cxx", "exit 1"));
#pragma once
#include <map>
#include <optional>
#include <string>

#include "blobs/tools/blob_compiler.h"
#include "blobs/tools/direct_cache.h"

namespace hearth::blobs::testing {

class Place {
 public:
  Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place();

  std::string path(const std::string& name) const { return name.empty() ? folder_ : folder_ + "/" + name; }
  std::string root() const { return path("root"); }
  // Makes the folders in between; returns the absolute path.
  std::string write(const std::string& name, const std::string& text) const;
  std::string folder(const std::string& name) const;
  std::string read(const std::string& name) const;
  // A shell script that answers --version and -print-prog-name=, and then does `body` with "$OUT" the -o operand.
  std::string stub(const std::string& name, const std::string& body) const;
  // A compiler that is the real one and adds a line to the file "compiles" for each object that it makes.
  std::string counting_compiler() const;
  int compiles() const;
  void set(const std::string& variable, const std::optional<std::string>& value);

  // A blob whose source is root/x.cpp, with one export.
  BlobSpec spec() const;
  DirectOptions direct() const;
  absl::StatusOr<CompiledBlob> compile(const BlobSpec& spec, BlobCompileOptions options = {}) const;

 private:
  std::string folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

// A source with `float hearth_f_<float>(float)` that returns x + K of "k.h" (include/k.h says 1).
inline constexpr char kSource[] =
    "#include \"k.h\"\n"
    "template <class T> T hearth_f_(T x) { return x - 1; }\n"
    "template <> float hearth_f_<float>(float x) { return x + K; }\n";
inline constexpr char kExport[] = "_Z9hearth_f_IfE";

bool says(const absl::Status& status, const std::string& text);
// Calls the exported function of a compiled object.
float call(const std::string& object, float x);

}  // namespace hearth::blobs::testing
