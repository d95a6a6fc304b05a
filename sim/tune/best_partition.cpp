#include "best_partition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm_hook.hpp"
#include "free_collectives.hpp"

namespace ddpsim {
namespace {

/// Most gradients after which a cut is tried; the work grows with the square.
constexpr std::size_t kMostPlaces = 512;

/// Positions after which to cut, the last one after all gradients. Every position or, if there are
/// too many, those that divide the bytes most evenly.
std::vector<std::size_t> places(const std::vector<Bytes>& before) {
  const std::size_t n = before.size() - 1;
  std::vector<std::size_t> places;
  const double all = static_cast<double>(before.back().count());
  for (std::size_t k = 1; k <= n; ++k) {
    const double share = all > 0 ? static_cast<double>(before[k].count()) / all : 1;
    const auto wanted = static_cast<double>(places.size() + 1) / kMostPlaces;
    if (n <= kMostPlaces || share >= wanted || k == n) places.push_back(k);
  }
  return places;
}

}  // namespace

std::optional<std::string> no_partition_because(const Workload& workload, CommHook hook) {
  if (stops_backward(hook))
    return fmt::format("{} stops backward at every bucket: nothing overlaps", name_of(hook));
  const Parameter* first = nullptr;
  for (const Parameter& parameter : workload.parameters) {
    if (!is_reduced(parameter)) continue;
    if (parameter.sparse_gradient) return "each sparse gradient has a bucket of its own";
    if (first == nullptr) first = &parameter;
    if (parameter.dtype != first->dtype || parameter.device != first->device)
      return "gradients of several dtypes or devices never share a bucket";
  }
  return std::nullopt;
}

std::vector<Bucket> best_partition(const Job& job) {
  const Workload& workload = job.workload();
  const FreeCollectives free = with_free_collectives(job);
  const std::vector<std::size_t>& order = free.order;
  // Element k holds the bytes of the first k gradients, all of one type.
  std::vector<Bytes> before(order.size() + 1);
  for (std::size_t k = 0; k < order.size(); ++k)
    before[k + 1] = before[k] + gradient_bytes(workload.parameters[order[k]]).value_or(Bytes());
  const auto on_the_wire = [&](Bytes bucket) {
    return wire_bytes(job.options().ddp(), workload.parameters[order.front()].dtype, bucket);
  };

  const Job among = reduced_among(job);
  const std::vector<std::size_t> place = places(before);
  const std::size_t n = place.size();
  const auto behind = [&](std::size_t i) { return i == 0 ? 0 : place[i - 1]; };
  std::vector<TimePoint> end(n + 1, TimePoint::max());
  std::vector<std::size_t> previous(n + 1, 0);
  end[0] = TimePoint();
  for (std::size_t j = 1; j <= n; ++j) {
    const TimePoint start = free.starts[behind(j) - 1];
    for (std::size_t i = j; i-- > 0;) {
      const Bytes bytes = before[behind(j)] - before[behind(i)];
      const Duration transfer =
          plan(among, CollectiveKind::all_reduce, on_the_wire(bytes)).transfer;
      const TimePoint candidate = std::max(end[i], start) + transfer;
      if (candidate < end[j]) {
        end[j] = candidate;
        previous[j] = i;
      }
      // A larger bucket finishes no earlier, and this one has nothing more to wait for.
      if (end[i] <= start || start + transfer >= end[j]) break;
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t j = n; j > 0; j = previous[j]) ends.push_back(behind(j));
  std::reverse(ends.begin(), ends.end());
  return cut_buckets(workload, order, ends);
}

}  // namespace ddpsim
