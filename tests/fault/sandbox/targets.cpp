#include "tests/fault/sandbox/targets.h"

#include <cstdlib>
#include <sstream>

namespace hearth::sandbox_test {

Targets::Targets(const std::string& lines) {
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) values_[line.substr(0, space)] = line.substr(space + 1);
  }
}

std::string Targets::operator[](const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

int Targets::number(const std::string& name) const { return std::atoi((*this)[name].c_str()); }

std::string Targets::text() const {
  std::string text;
  for (const auto& [name, value] : values_) text += name + " " + value + "\n";
  return text;
}

}  // namespace hearth::sandbox_test
