#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"

#include "comm_hook.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "local_sgd.hpp"

namespace ddpsim {

std::vector<Bytes> all_reduce_sizes(const Job& job) {
  std::vector<Bytes> sizes;
  const KernelCosts kernels(job);
  for (const Bucket& bucket : buckets_of(job))
    for (const HookStage& stage : hook_of(job, kernels, bucket).stages)
      sizes.push_back(stage.bytes);
  if (const auto averaging = model_averaging(job, kernels)) sizes.push_back(averaging->bytes);
  return sizes;
}

}  // namespace ddpsim
