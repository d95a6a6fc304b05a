// A measured step beside the simulated one. Both must be of the same job.
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

/// Throws InputError if the two have no rank in common.
TimelineDifference laid_beside(const Timeline& predicted, const Timeline& measured,
                               const std::string& file);

/// Throws InputError if the provenance or the spans of the timeline show other ranks, another backend or other buckets than are
/// simulated. A difference would then mean nothing.
void require_same_job(const Timeline& measured, const std::string& file, const BuiltJob& loaded,
                      const std::vector<BucketResult>& buckets);

/// Returns a warning if the workloads have different names. That is no error, because people choose these names themselves.
std::optional<std::string> another_workload(const Timeline& measured, const BuiltJob& loaded);

/// Returns the simulated timeline with the provenance that require_same_job reads.
Timeline described(const SimulationResult& result, const Job& job);

}  // namespace ddpsim
