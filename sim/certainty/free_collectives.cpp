#include "free_collectives.hpp"

#include <utility>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

FreeCollectives with_free_collectives(const Job& job) {
  FreeCollectives free{.order = ready_order(job.workload()), .starts = {}};
  std::vector<std::size_t> ends;
  for (std::size_t k = 1; k <= free.order.size(); ++k) ends.push_back(k);
  SimulationOptions single = job.options();
  single.iterations = 0;
  single.buckets = cut_buckets(job.workload(), free.order, ends);
  // Nobody launches one bucket per gradient, so the bound leaves out what that many launches would
  // cost the host.
  single.costs.host_launch = Duration();
  const SimulationResult result =
      simulate(job.with(std::move(single)).with(FreeModel{}), nullptr, WithTimeline::no);
  free.starts.reserve(free.order.size());
  for (const BucketResult& bucket : result.step.buckets) free.starts.push_back(bucket.last_arrival);
  const StepTimes& times = result.step.times;
  free.backward_end = TimePoint() + times.forward + times.backward + times.sync_batchnorm;
  free.copies_out = times.finalize;
  free.iteration = times.iteration;
  return free;
}

}  // namespace ddpsim
