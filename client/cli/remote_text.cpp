#include "client/cli/remote_text.h"

#include <nlohmann/json.hpp>

namespace hearth::cli {

std::string remote_text(const v1::StatsResponse& stats) {
  if (!stats.has_remote()) return "none";
  const v1::RemoteStats& remote = stats.remote();
  std::string text;
  for (const std::string& address : remote.addresses()) text += (text.empty() ? "" : ", ") + address;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  text += ": " + std::to_string(remote.hits()) + " hits, " + std::to_string(remote.misses()) + " misses";
  add(remote.late(), "late");
  add(remote.errors(), "errors");
  add(remote.incomplete(), "incomplete");
  add(remote.unsigned_results(), "unsigned");
  if (remote.is_writer()) text += "; " + std::to_string(remote.sent()) + " results sent";
  add(remote.send_errors(), "not taken");
  add(remote.send_drops(), "dropped");
  if (!remote.is_asked()) text += "; not asked for now";
  if (!remote.problem().empty()) text += "; " + remote.problem();
  return text;
}

nlohmann::ordered_json remote_json(const v1::StatsResponse& stats) {
  if (!stats.has_remote()) return nullptr;
  const v1::RemoteStats& remote = stats.remote();
  return {{"addresses", std::vector<std::string>(remote.addresses().begin(), remote.addresses().end())},
          {"is_asked", remote.is_asked()},
          {"is_writer", remote.is_writer()},
          {"problem", remote.problem()},
          {"hits", remote.hits()},
          {"misses", remote.misses()},
          {"late", remote.late()},
          {"errors", remote.errors()},
          {"incomplete", remote.incomplete()},
          {"unsigned", remote.unsigned_results()},
          {"hedges", remote.hedges()},
          {"breaker_openings", remote.breaker_openings()},
          {"sent", remote.sent()},
          {"send_errors", remote.send_errors()},
          {"send_drops", remote.send_drops()}};
}

}  // namespace hearth::cli
