// Targets: the parts of a victim by name ("cache_file", "pid", "socket", …; victim.cpp sets them), as lines of text on
// their way to the worker.
//
//   const Targets targets(request.ast());
//   ::truncate(targets["cache_file"].c_str(), 0);
#pragma once
#include <map>
#include <string>

namespace hearth::sandbox_test {

class Targets {
 public:
  Targets() = default;
  explicit Targets(const std::string& lines);  // as text() gives them

  void set(const std::string& name, const std::string& value) { values_[name] = value; }
  std::string operator[](const std::string& name) const;
  int number(const std::string& name) const;
  std::string text() const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace hearth::sandbox_test
