// The logs that `calibrate` fits: nccl-tests tables, what jobs noted of their all-reduces, and recorded trainings.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// All logs given, and what reading them said.
struct ReadLogs {
  std::vector<MeasuredLog> logs;
  std::vector<std::string> read;
  std::vector<std::string> warnings;
};
/// `texts`: LOG[@NODESxGPUS,…], as typed. `unstated`: the library of logs that do not say theirs. Throws InputError where a log cannot
/// be of this cluster.
ReadLogs read_logs(const std::vector<std::string>& texts, const Cluster& cluster, Backend unstated);

/// Whether all are of gloo, none of NCCL: each library has times of its own. Throws InputError where some are of each.
bool all_of_gloo(const std::vector<MeasuredLog>& logs);

}  // namespace ddpsim
