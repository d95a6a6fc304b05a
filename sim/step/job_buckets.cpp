#include "ddpsim/sim/step/job_buckets.hpp"

#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

std::vector<Bucket> buckets_of(const Job& job) {
  return buckets_for(job, 0);
}

std::vector<Bucket> buckets_for(const Job& job, int iteration) {
  const SimulationOptions& options = job.options();
  if (!uses_reducer(options.scheme)) return {};
  if (options.buckets) return *options.buckets;
  return iteration == 0
             ? steady_buckets(job.workload(), options.ddp(), options.torch)
             : buckets_of_iteration(job.workload(), options.ddp(), options.torch, iteration);
}

}  // namespace ddpsim
