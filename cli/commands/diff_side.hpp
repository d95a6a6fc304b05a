// OLD and NEW of `diff`: whatever was measured, read into what can be compared.
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
  std::optional<StepBreakdown> recorded_step;  ///< parts of the workload's, as recorded
  std::vector<Duration> steps;                 ///< of step times alone
  std::vector<LoggedAllReduces> logs;  ///< of nccl-tests, each of another job shape or setting
  std::optional<KernelTimes> kernels;  ///< of a trace; of several ranks, the lowest
  Evidence evidence;                   ///< of its logs, environments and machines
  std::vector<std::string> warnings;
};

struct DiffReading {
  std::optional<std::string> model;   ///< parameter list for traces without shapes
  std::optional<std::int64_t> batch;  ///< samples per GPU, where the side does not say
};

/// One or several of these with commas between: a recording (trace, folder of them, several ranks' files, workload, DDP log,
/// bundled name), step times (a file, FILE:KEY, FILE:KEY=UNIT, "104ms"), an nccl-tests log, a log with NCCL's debug lines, an
/// environment, what a machine says of itself, an archive of scripts/collect.sh. Throws InputError.
DiffSide read_diff_side(const std::string& text, const DiffReading& reading);

}  // namespace ddpsim
