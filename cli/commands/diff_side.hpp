// A side of `diff`, OLD or NEW: all its measurements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"
#include "ddpsim/diagnose/diff/step_parts.hpp"
#include "ddpsim/diagnose/evidence/evidence.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/kernel_kinds.hpp"

namespace ddpsim {

struct DiffSide {
  DifferenceSide shown;
  std::optional<Workload> workload;            ///< of a recording
  std::vector<JoinedCollective> joined;        ///< of several ranks' traces
  std::optional<StepBreakdown> recorded_step;  ///< of the workload
  std::vector<Duration> steps;                 ///< step times
  /// nccl-tests logs, one for each job shape or setting.
  std::vector<LoggedAllReduces> logs;
  std::optional<KernelTimes> kernels;  ///< of the lowest traced rank
  Evidence evidence;                   ///< of its logs, environments and machines
  std::vector<std::string> warnings;
};

struct DiffReading {
  std::optional<std::string> model;   ///< for traces without shapes
  std::optional<std::int64_t> batch;  ///< samples per GPU, unless stated
};

/// Reads a side. Throws InputError. A side has one or more items, separated by commas:
/// - a recording: trace, folder of traces, files of several ranks, workload, DDP log or bundled name;
/// - step times: a file, FILE:KEY, FILE:KEY=UNIT or "104ms";
/// - an nccl-tests log, a log with NCCL's debug lines, an environment, or the output of a tool about its machine;
/// - an archive of scripts/collect.sh.
DiffSide read_diff_side(const std::string& text, const DiffReading& reading);

}  // namespace ddpsim
