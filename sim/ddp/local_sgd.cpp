#include "local_sgd.hpp"

#include "step_collectives.hpp"

#include <algorithm>
#include <variant>

namespace ddpsim {
namespace {

/// torch.promote_types of floating-point types: of two that hold as many bytes neither holds the other.
Dtype promoted(Dtype a, Dtype b) {
  if (a == b) return a;
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  return element_size(a) == element_size(Dtype::float16) ? Dtype::float32 : Dtype::complex128;
}

}  // namespace

FlatParameters flat_parameters(const Workload& workload) {
  FlatParameters flat;
  const std::vector<ReadyEvent>& written = workload.backward->ready;
  if (written.empty()) return flat;
  const auto dtype_of = [&](const ReadyEvent& event) {
    return workload.parameters[event.parameter].dtype;
  };
  Dtype common = dtype_of(written.front());
  for (const ReadyEvent& event : written) common = promoted(common, dtype_of(event));
  for (const ReadyEvent& event : written) {
    const Bytes bytes = gradient_bytes(workload.parameters[event.parameter]).value_or(Bytes());
    flat.moved += bytes;
    flat.bytes += Bytes(bytes.count() / element_size(dtype_of(event)) * element_size(common));
    if (dtype_of(event) == common) continue;
    flat.of_others += bytes;
    flat.largest_other = std::max(flat.largest_other, bytes);
    ++flat.others;
  }
  return flat;
}

std::optional<ModelAveraging> model_averaging(const Job& job, const KernelCosts& kernels) {
  const DdpOptions& ddp = job.options().ddp;
  if (ddp.comm_hook != CommHook::post_local_sgd) return std::nullopt;
  const DdpCosts& costs = job.options().costs;
  const FlatParameters flat = flat_parameters(job.workload());
  const CollectivePlan planned = plan(job, CollectiveKind::all_reduce, flat.bytes, kUnrecorded);
  const Duration gpu = kernels.cast(flat.moved, flat.bytes) + kernels.copy(flat.bytes) +
                       kernels.kernels(flat.others, 3 * flat.of_others);
  const Duration host = costs.event_latency + costs.host_launch + costs.launch_latency;
  const Duration all_reduce =
      planned.to_host + planned.transfer + planned.to_device + costs.event_latency;
  return ModelAveraging{
      .period = ddp.local_sgd.period, .bytes = flat.bytes, .whole = gpu + host + all_reduce};
}

std::optional<std::string> cannot_average(const Job& job) {
  const DdpOptions& ddp = job.options().ddp;
  if (ddp.comm_hook != CommHook::post_local_sgd) return std::nullopt;
  if (std::holds_alternative<FlowModel>(job.model()))
    return "post_localSGD_hook reduces within nodes, and the flow network knows collectives of all "
           "ranks alone: leave out --network flow";
  if (!job.has_group(1))
    return "post_localSGD_hook reduces within nodes, and the cluster's nodes differ: no number "
           "says "
           "what an all-reduce within one takes";
  if (!ddp.local_sgd.averages_gradients &&
      (!job.options().variation.empty() || !job.workload().ranks.empty()))
    return "without all-reduces of gradients ranks meet at the averaging alone, and ranks that "
           "differ are not followed from one to the next: leave out --local-sgd-gradients none, or "
           "what makes them differ";
  return std::nullopt;
}

BucketHook local_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket) {
  BucketHook hook{.stages = {{}}};
  if (!job.options().ddp.local_sgd.averages_gradients) return hook;
  hook.stages.front().bytes = bucket.bytes;
  hook.before.kernels.push_back(kernels.copy(bucket.bytes));
  return hook;
}

}  // namespace ddpsim
