// Chooses what to measure next: the source of error whose removal would narrow an interval most,
// and the command that removes it.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "uncertainty.hpp"

namespace ddpsim {

/// Runs all_reduce_perf over `sizes`, rounded outwards to powers of two, with enough sizes for a
/// fit. Absent for one rank, and if the cluster is calibrated with logs of this shape and these
/// sizes.
std::optional<NextMeasurement> measure_all_reduces(ErrorSource source,
                                                   const std::vector<Bytes>& sizes,
                                                   const Cluster& cluster);

/// Measures collectives of these sizes as this job runs them, over NCCL or gloo. Absent if they
/// were measured already.
std::optional<NextMeasurement> measure_collectives(const Job& job, const std::vector<Bytes>& sizes);

/// Absent if no source of error is worth a measurement or none can be measured.
std::optional<NextMeasurement> measure_next(const std::vector<Sensitivity>& sensitivities,
                                            Duration predicted, const Job& job);

/// What to measure to tell whether compute or communication explains the current step's residual.
/// Absent if there is no residual.
std::optional<NextMeasurement> measure_cause(const Replay& replay, const Workload& workload);

}  // namespace ddpsim
