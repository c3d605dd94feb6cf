#include "tests/unit/rules/report.h"

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <cstdio>

#include "tests/unit/rules/families.h"

namespace hearth::test {
namespace {

void print_line(const std::string& name, const FamilyReport& r) {
  std::printf("%-16s %5d %8d %8d %7d %8d %6d %8d %9d/%d %11d/%d\n", name.c_str(), r.rules, r.declarative, r.functions,
              r.proved_integers, r.proved_vectors, r.proved_others, r.checked, r.refuted, r.mutants, r.caught,
              r.wrong_results);
}

class PrintReport : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    if (report().empty()) return;  // other tests were asked for
    std::printf("%-16s %5s %8s %8s %7s %8s %6s %8s %11s %13s\n", "rules", "all", "declared", "function", "proved:Z",
                "8-bit", "other", "instance", "mutants ref.", "results ref.");
    FamilyReport total;
    for (const Family& family : families()) {
      const FamilyReport& r = report()[std::string(family.name)];
      print_line(std::string(family.name), r);
      total += r;
    }
    print_line("total", total);
    std::fflush(stdout);
  }
};
CATCH_REGISTER_LISTENER(PrintReport)

}  // namespace

FamilyReport& FamilyReport::operator+=(const FamilyReport& other) {
  rules += other.rules, declarative += other.declarative, functions += other.functions;
  proved_integers += other.proved_integers, proved_vectors += other.proved_vectors;
  proved_others += other.proved_others, checked += other.checked;
  mutants += other.mutants, refuted += other.refuted;
  wrong_results += other.wrong_results, caught += other.caught;
  return *this;
}

std::map<std::string, FamilyReport>& report() {
  static std::map<std::string, FamilyReport>& all = *new std::map<std::string, FamilyReport>;
  return all;
}

}  // namespace hearth::test
