#include "best_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

/// R(j): with one bucket per gradient and free collectives, a bucket is on the wire as soon as it
/// could be: when the last rank is there.
std::vector<TimePoint> earliest_starts(const Job& job, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> ends;
  for (std::size_t k = 1; k <= order.size(); ++k) ends.push_back(k);
  SimulationOptions single = job.options();
  single.iterations = 0;
  single.buckets = cut_buckets(job.workload(), order, ends);
  const SimulationResult result = simulate(job.with(std::move(single)).with(FreeModel{}));
  std::vector<TimePoint> starts;
  for (const BucketResult& bucket : result.step.buckets) starts.push_back(bucket.last_arrival);
  return starts;
}

}  // namespace

std::optional<std::string> no_partition_because(const Workload& workload, CommHook hook) {
  if (stops_backward(hook))
    return fmt::format("{} stops backward at every bucket: nothing overlaps", name_of(hook));
  const Parameter* first = nullptr;
  for (const Parameter& parameter : workload.parameters) {
    if (parameter.ignored) continue;
    if (parameter.sparse_gradient) return "sparse gradients travel in buckets of their own";
    if (first == nullptr) first = &parameter;
    if (parameter.dtype != first->dtype || parameter.device != first->device)
      return "gradients of several dtypes or devices never share a bucket";
  }
  return std::nullopt;
}

std::vector<Bucket> best_partition(const Job& job) {
  const Workload& workload = job.workload();
  const std::vector<std::size_t> order = ready_order(workload);
  const std::vector<TimePoint> starts = earliest_starts(job, order);
  const std::size_t n = order.size();
  // Bytes of the first k gradients, all of one type.
  std::vector<Bytes> before(n + 1);
  for (std::size_t k = 0; k < n; ++k)
    before[k + 1] = before[k] + gradient_bytes(workload.parameters[order[k]]).value_or(Bytes());
  const auto on_the_wire = [&](Bytes bucket) {
    return wire_bytes(job.options().ddp, workload.parameters[order.front()].dtype, bucket);
  };

  const bool local = job.options().ddp.comm_hook == CommHook::post_local_sgd;
  const Job among = local ? job.within(1) : job;
  std::vector<TimePoint> end(n + 1, TimePoint::max());
  std::vector<std::size_t> previous(n + 1, 0);
  end[0] = TimePoint();
  for (std::size_t j = 1; j <= n; ++j) {
    for (std::size_t i = j; i-- > 0;) {
      const Duration transfer =
          plan(among, CollectiveKind::all_reduce, on_the_wire(before[j] - before[i])).transfer;
      const TimePoint candidate = std::max(end[i], starts[j - 1]) + transfer;
      if (candidate < end[j]) {
        end[j] = candidate;
        previous[j] = i;
      }
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t j = n; j > 0; j = previous[j]) ends.push_back(j);
  std::reverse(ends.begin(), ends.end());
  return cut_buckets(workload, order, ends);
}

}  // namespace ddpsim
