// OLD and NEW of `diff`: whatever was measured, read into what can be compared.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/calibrate/finding.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "ddpsim/sim/workload.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

struct DiffSide {
  DifferenceSide shown;
  std::optional<Workload> workload;  ///< of a recording
  std::optional<DdpLog> ddp_log;
  std::vector<JoinedCollective> joined;                 ///< of several ranks' traces
  std::vector<Duration> steps;                          ///< of step times alone
  std::vector<std::pair<Bytes, Duration>> all_reduces;  ///< of an nccl-tests log
  std::vector<Finding> findings;
  std::string log;  ///< text of a log with NCCL's debug lines, for what two of them tell
  std::vector<std::string> warnings;
};

struct DiffReading {
  std::optional<std::string> model;   ///< parameter list for traces without shapes
  std::optional<std::int64_t> batch;  ///< samples per GPU, where the side does not say
};

/// A recording (trace, folder of them, FILE,FILE,… of several ranks, workload, DDP log, bundled name), step times (a file,
/// FILE:COLUMN, "104ms") or an nccl-tests log. Throws InputError.
DiffSide read_diff_side(const std::string& text, const DiffReading& reading);

}  // namespace ddpsim
