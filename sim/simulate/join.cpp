// What Join adds to an iteration, in PyTorch's order (torch/nn/parallel/distributed.py:
// _pre_forward, _DDPJoinHook; 2.13).
//
// In forward:
// - An all-reduce of one float, 1 from each rank with inputs and 0 from others, counts the ranks
//   with inputs.
// - With throw_on_early_termination, another one tells whether any rank has none. The host waits
//   for it.
// - With buffers, an all-reduce (max) of one int64 finds the highest rank with inputs. The host
//   waits for it, and that rank broadcasts the buffers.
// - An all-reduce of one float tells whether any rank's backward will reduce.
//
// In backward:
// - Buckets in order, then the map of used parameters.
// - Without divide_by_initial_world_size, the first gradient's hook reads the number of ranks from
//   above.
//
// A rank without inputs does the same with zeros, and its host waits for each. When no rank has
// inputs, there is one more all-reduce of one float. Then the last rank that joined (max of one
// int64) broadcasts all parameters and buffers, in pieces of 250 MiB per type.
#include <algorithm>
#include <array>
#include <numeric>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "epoch_of.hpp"
#include "step_collectives.hpp"

namespace ddpsim {
namespace {

constexpr Bytes kBroadcastBucket(250L << 20);

JoinCollective count_of_ranks(std::string_view what, bool waits) {
  return {.what = what, .op = "sum", .of_join = true, .host_waits = waits};
}
JoinCollective common_rank() {
  return {.what = "common rank",
          .dtype = Dtype::int64,
          .op = "max",
          .of_join = true,
          .host_waits = true};
}

JoinCollective of_bucket(const Bucket& bucket, Dtype wire) {
  return {.what = "bucket",
          .dtype = wire,
          .elements = bucket.bytes.count() / element_size(bucket.dtype),
          .op = "sum"};
}

std::vector<JoinCollective> iteration_of(const Job& job, const std::vector<Bucket>& buckets,
                                         bool joined) {
  const DdpOptions& ddp = job.options().ddp();
  const Workload& workload = job.workload();
  std::vector<JoinCollective> all;
  for (int batch = 0; batch < job.options().accumulate; ++batch) {
    all.push_back(count_of_ranks("ranks not joined", joined));
    if (job.options().uneven_inputs->throw_on_early_termination)
      all.push_back(count_of_ranks("early termination", true));
    if (batch == 0 && ddp.broadcast_buffers && !workload.buffers.empty()) {
      all.push_back(common_rank());
      for (const BufferGroup& group : workload.buffers)
        all.push_back({.kind = CollectiveKind::broadcast,
                       .what = "buffers",
                       .dtype = group.dtype,
                       .elements = group.bytes.count() / element_size(group.dtype)});
    }
    all.push_back(count_of_ranks("backward reduces", joined));
  }
  for (const Bucket& bucket : buckets)
    all.push_back(of_bucket(bucket, casts(ddp, bucket.dtype, bucket.bytes)
                                        ? wire_dtype(ddp, bucket.dtype)
                                        : bucket.dtype));
  if (ddp.find_unused_parameters && !ddp.static_graph) {
    const auto parameters = std::ranges::count_if(workload.parameters, is_reduced);
    all.push_back(
        {.what = "used parameters", .dtype = Dtype::int32, .elements = parameters, .op = "sum"});
  }
  return all;
}

/// _sync_module_states: broadcasts parameters, then buffers, as DDP's constructor does.
std::vector<JoinCollective> end_of(const Job& job) {
  std::vector<JoinCollective> end = {count_of_ranks("ranks not joined", true), common_rank()};
  std::vector<Parameter> states;
  for (const Parameter& parameter : job.workload().parameters)
    if (!parameter.ignored) states.push_back(parameter);
  if (job.options().ddp().broadcast_buffers)  // otherwise each rank keeps its own
    for (const BufferGroup& group : job.workload().buffers)
      states.push_back({.name = "buffers",
                        .shape = {{group.bytes.count() / element_size(group.dtype)}},
                        .dtype = group.dtype});
  for (Parameter& state : states) state.sparse_gradient = false;
  std::vector<std::size_t> order(states.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const Bucket& bucket :
       assign_buckets(states, order, std::array{kBroadcastBucket}, BucketOrder::by_smallest_index))
    end.push_back({.kind = CollectiveKind::broadcast,
                   .what = "model",
                   .dtype = bucket.dtype,
                   .elements = bucket.bytes.count() / element_size(bucket.dtype),
                   .of_join = true});
  return end;
}

}  // namespace

std::optional<JoinedEpoch> joined_epoch_of(const Job& job, const std::vector<Bucket>& buckets,
                                           Duration step) {
  const auto& inputs = job.options().uneven_inputs;
  if (!inputs) return std::nullopt;
  JoinedEpoch epoch{.inputs = *inputs, .step = step};
  SimulationOptions options = job.options();
  options.uneven_inputs.reset();
  options.iterations = 0;
  options.variation.jitter = 0;
  options.variation.stagger = Duration();
  epoch.step_without = simulate_times(job.with(std::move(options))).iteration;
  epoch.iteration = iteration_of(job, buckets, false);
  epoch.joined = iteration_of(job, buckets, true);
  const bool raises = inputs->throw_on_early_termination && inputs->least < inputs->most;
  if (raises)
    epoch.end = {count_of_ranks("ranks not joined", false),
                 count_of_ranks("early termination", true)};
  else
    epoch.end = end_of(job);
  for (const JoinCollective& collective : epoch.end) {
    const Bytes bytes(collective.elements * element_size(collective.dtype));
    const CollectivePlan planned = plan(job, collective.kind, bytes, kUnrecorded);
    epoch.end_time += planned.transfer + planned.to_host + planned.to_device;
    if (collective.host_waits)
      epoch.end_time += job.options().costs.launch_latency + job.options().costs.host_launch;
  }
  epoch.iterations = raises ? inputs->least : inputs->most;
  epoch.tail = raises ? 0 : inputs->most - inputs->least;
  if (raises) epoch.skipped = inputs->total - inputs->least * job.cluster().ranks();
  epoch.time = step * epoch.iterations + epoch.end_time;
  return epoch;
}

}  // namespace ddpsim
