// The end of backward (Reducer::finalize_backward): the compute stream waits for what is in flight and copies gradients
// out of the buckets. Under overlap_with_ddp (zero_redundancy.hpp) buckets are stepped and broadcast in between.
#pragma once

#include "rank_streams.hpp"
#include "recording.hpp"
#include "step_plan.hpp"

namespace ddpsim {

/// Ends of the collectives in flight.
struct WorkInFlight {
  std::vector<EventId> buckets;  ///< empty where backward waited for them
  std::optional<EventId> local_used_map;
  std::vector<bool> stepped;  ///< by bucket: its optimizer has run in backward
};

/// What the optimizer took in it, under overlap_with_ddp.
Duration finalize_backward(const StepPlan& step, const Recording& recording,
                           const WorkInFlight& work, RankStreams& streams);

}  // namespace ddpsim
