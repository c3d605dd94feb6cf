// Registry: implementations of an interface by name, in the order in which they came: those that a library brings, and
// what a program adds before the first is asked for. Entries are borrowed and outlive the registry. Thread-safe.
//
//   static Registry<Driver>& registry = *new Registry<Driver>{{"cpu", &cpu_driver()}};
//   const Driver* driver = registry.find("cpu");   // null where there is none
#pragma once
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

template <typename T>
class Registry {
 public:
  Registry() = default;
  Registry(std::initializer_list<std::pair<std::string_view, const T*>> entries) {
    for (const auto& [name, entry] : entries) add(name, *entry);
  }

  // In place of the one that had this name.
  void add(std::string_view name, const T& entry) {
    const std::lock_guard lock(mutex_);
    for (auto& [known, value] : entries_) {
      if (known == name) {
        value = &entry;
        return;
      }
    }
    entries_.emplace_back(name, &entry);
  }

  const T* find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, value] : entries_) {
      if (known == name) return value;
    }
    return nullptr;
  }

  std::vector<std::pair<std::string, const T*>> all() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, const T*>> entries_;
};

}  // namespace hearth
