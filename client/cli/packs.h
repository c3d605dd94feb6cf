// Packs in the command line: hearth cache export | import, and from which pack a cached plan came.
//
//   const std::map<std::string, v1::ImportedPack> packs = packs_of_plans(flags.socket);
#pragma once
#include <map>
#include <string>

#include "client/cli/command.h"
#include "hearth/v1/pack.pb.h"

namespace hearth::cli {

void add_packs(CLI::App& cache, Action& action);

// By plans' keys, of packs that the daemon has imported. Empty without a daemon, and for who is not its operator.
std::map<std::string, v1::ImportedPack> packs_of_plans(const std::string& socket);

}  // namespace hearth::cli
