// The schedule of a step, whatever scheme the job asks for.
#pragma once

#include "planned_step.hpp"

namespace ddpsim {

/// Ranks that compute alike share one entry of Schedule::ranks. `states` holds one entry per rank of
/// the cluster; empty: every rank computes as recorded, from the start that was recorded with it.
PlannedStep schedule_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                          const std::vector<RankState>& states);

}  // namespace ddpsim
