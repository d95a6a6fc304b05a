// "Measure this next": of all named sources of an interval, the one whose absence would narrow it
// most, and the command that takes it out.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "uncertainty.hpp"

namespace ddpsim {

/// all_reduce_perf over `sizes`, rounded outwards to powers of two, as many as a fit needs. Absent
/// for one rank, and where the cluster is calibrated with logs of this shape and these sizes.
std::optional<NextMeasurement> measure_all_reduces(ErrorSource source,
                                                   const std::vector<Bytes>& sizes,
                                                   const Cluster& cluster);

/// Collectives of these sizes as this job runs them, over NCCL or gloo. Absent where they were measured already.
std::optional<NextMeasurement> measure_collectives(const Job& job, const std::vector<Bytes>& sizes);

/// Absent where no source that can be measured is worth a measurement.
std::optional<NextMeasurement> measure_next(const std::vector<Sensitivity>& sensitivities,
                                            Duration predicted, const Job& job);

/// What tells whether compute or communication made today's step another than predicted; absent where it
/// was not.
std::optional<NextMeasurement> measure_cause(const Replay& replay, const Workload& workload);

}  // namespace ddpsim
