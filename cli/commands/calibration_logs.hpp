// The logs that `calibrate` fits: nccl-tests tables, what jobs noted of their all-reduces, and recorded trainings.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// All logs given, with the lines to show about them.
struct ReadLogs {
  std::vector<MeasuredLog> logs;
  std::vector<std::string> read;
  std::vector<std::string> warnings;
};
/// Reads LOG[@NODESxGPUS,…], as typed. `unstated` is the library of logs that do not name theirs. Throws InputError if a log cannot come
/// from this cluster.
ReadLogs read_logs(const std::vector<std::string>& texts, const Cluster& cluster, Backend unstated);

/// Returns whether all logs were measured with gloo, and not with NCCL. Throws InputError if there are logs of both.
bool all_of_gloo(const std::vector<MeasuredLog>& logs);

}  // namespace ddpsim
