// The schedule of a step under the job's scheme.
#pragma once

#include "planned_step.hpp"

namespace ddpsim {

/// Ranks that behave alike share one entry of Schedule::ranks. `states` holds one entry per rank of
/// the cluster. If it is empty, every rank computes as recorded, from its recorded start.
PlannedStep schedule_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                          const std::vector<RankState>& states);

}  // namespace ddpsim
