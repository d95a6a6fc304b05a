#include "comm_hook.hpp"

#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "local_sgd.hpp"
#include "power_sgd.hpp"

namespace ddpsim {

Job reduced_among(const Job& job) {
  return job.options().ddp().comm_hook == CommHook::post_local_sgd ? job.within(1) : job;
}

BucketHook hook_of(const Job& job, const KernelCosts& kernels, const Bucket& bucket) {
  const DdpOptions& ddp = job.options().ddp();
  if (ddp.comm_hook == CommHook::power_sgd) return power_sgd_hook(job, kernels, bucket);
  if (ddp.comm_hook == CommHook::post_local_sgd) return local_sgd_hook(job, kernels, bucket);
  const Bytes sent = wire_bytes(ddp, bucket.dtype, bucket.bytes);
  BucketHook hook{.stages = {{.bytes = sent}}};
  if (ddp.comm_hook == CommHook::none) return hook;
  // A gradient that already has the hook's type is divided in place.
  Dtype wire = bucket.dtype;
  if (casts(ddp, bucket.dtype, bucket.bytes)) {
    wire = wire_dtype(ddp, bucket.dtype);
    hook.before.kernels.push_back(kernels.cast(bucket.bytes, sent) + kernels.allocate(sent));
    hook.stages.front().then.kernels.push_back(kernels.cast(sent, bucket.bytes));
  }
  hook.before.kernels.push_back(kernels.divide(sent, wire));
  return hook;
}

}  // namespace ddpsim
