// What Prometheus reads of a daemon (text format 0.0.4): the counters of `hearth stats`, and each user's. Pure
// functions; thread-safe.
//
//   std::string page = metrics_text(stats, accounts.snapshot(), metrics.histograms());
#pragma once
#include <sys/types.h>

#include <map>
#include <string>

#include "daemon/store/user_accounts.h"
#include "hearth/v1/admin_service.pb.h"

namespace hearth::daemon {

std::string metrics_text(const v1::StatsResponse& stats, const std::map<uid_t, UserCounters>& users,
                         const Histograms& times);

}  // namespace hearth::daemon
