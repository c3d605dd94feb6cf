// CallServices: what calls need of the daemon; everything outlives the server.
#pragma once
#include "daemon/serve/connected_clients.h"
#include "daemon/serve/memory_budget.h"

namespace hearth::daemon {

class Activity;
class ArtifactGrants;
class Leases;
class Metrics;
class Preparer;
class ResultStore;

struct CallServices {
  Preparer* preparer = nullptr;
  Leases* leases = nullptr;
  Metrics* metrics = nullptr;
  ResultStore* store = nullptr;
  Activity* activity = nullptr;
  const ConnectedClients* clients = nullptr;
  MemoryBudget* requests = nullptr;  // what parsed requests take
  MemoryBudget* answers = nullptr;   // what is written and not read yet
  ArtifactGrants* grants = nullptr;
};

}  // namespace hearth::daemon
