// A measured step laid beside the simulated one: only where both are of one job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/reports/timeline_difference.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

Timeline read_timeline(const std::string& file);

/// Throws InputError where no rank is in both.
TimelineDifference laid_beside(const Timeline& predicted, const Timeline& measured,
                               const std::string& file);

/// Throws InputError where the timeline, by what it says of itself or by its spans, has other ranks,
/// another backend or other buckets than are simulated: then no difference would mean anything.
void require_same_job(const Timeline& measured, const std::string& file, const BuiltJob& loaded,
                      const std::vector<BucketResult>& buckets);

/// Names of workloads are people's own: another one is only remarked upon.
std::optional<std::string> another_workload(const Timeline& measured, const BuiltJob& loaded);

/// The simulated timeline with what require_same_job reads.
Timeline described(const SimulationResult& result, const Job& job);

}  // namespace ddpsim
