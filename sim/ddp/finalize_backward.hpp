// The end of backward (Reducer::finalize_backward): the compute stream waits for the collectives in
// flight and copies gradients out of the buckets. Under overlap_with_ddp (zero_redundancy.hpp),
// buckets are stepped and broadcast before the copies.
#pragma once

#include "rank_streams.hpp"
#include "recording.hpp"
#include "step_plan.hpp"

namespace ddpsim {

/// Events at the ends of the collectives in flight.
struct WorkInFlight {
  std::vector<EventId> buckets;  ///< empty if backward waited for them
  std::optional<EventId> local_used_map;
  std::vector<bool> stepped;  ///< by bucket: its optimizer has run in backward
};

/// Returns the optimizer's time within it, which is zero without overlap_with_ddp.
Duration finalize_backward(const StepPlan& step, const Recording& recording,
                           const WorkInFlight& work, RankStreams& streams);

}  // namespace ddpsim
