#include "comm_hook.hpp"

#include "ddpsim/sim/bucket_assignment.hpp"
#include "power_sgd.hpp"

namespace ddpsim {

BucketHook hook_of(const Job& job, const KernelCosts& kernels, const Bucket& bucket) {
  const DdpOptions& ddp = job.options().ddp;
  if (ddp.comm_hook == CommHook::power_sgd) return power_sgd_hook(job, kernels, bucket);
  const Bytes sent = wire_bytes(ddp, bucket.dtype, bucket.bytes);
  BucketHook hook{.stages = {{.bytes = sent}}};
  if (ddp.comm_hook == CommHook::none) return hook;
  // Gradients of the hook's own type are divided where they are.
  if (wire_dtype(ddp, bucket.dtype) != bucket.dtype) {
    hook.before.kernels.push_back(kernels.cast(bucket.bytes, sent));
    hook.stages.front().then.kernels.push_back(kernels.cast(sent, bucket.bytes));
  }
  hook.before.kernels.push_back(kernels.copy(sent));
  return hook;
}

}  // namespace ddpsim
