#include "gradient_buckets.hpp"

#include <algorithm>
#include <map>

#include "unit_sizes.hpp"

namespace ddpsim {

std::vector<std::size_t> parameters_as_written(const Workload& workload) {
  std::vector<std::size_t> order;
  for (const ReadyEvent& event : workload.backward->ready)
    if (!workload.parameters[event.parameter].ignored) order.push_back(event.parameter);
  return order;
}

std::vector<std::size_t> parameters_as_defined(const Workload& workload) {
  std::vector<std::size_t> order = parameters_as_written(workload);
  std::ranges::sort(order);
  return order;
}

GradientBuckets buckets_up_to(std::int64_t most, const Workload& workload,
                              const std::vector<std::size_t>& order) {
  GradientBuckets buckets;
  std::int64_t held = 0;
  for (const std::size_t parameter : order) {
    const std::int64_t elements = elements_of(workload.parameters[parameter]);
    if (buckets.empty() || held + elements > most) {
      buckets.emplace_back();
      held = 0;
    }
    buckets.back().push_back(parameter);
    held += elements;
  }
  return buckets;
}

std::vector<std::size_t> complete_after(const GradientBuckets& buckets,
                                        const Recording& recording) {
  std::map<std::size_t, std::size_t> written;  // by parameter: gradients written by then
  for (std::size_t k = 0; k < recording.gradients(); ++k)
    written[recording.gradient(k).parameter] = k + 1;
  std::vector<std::size_t> complete;
  std::size_t all = 0;
  for (const std::vector<std::size_t>& bucket : buckets) {
    for (const std::size_t parameter : bucket) all = std::max(all, written[parameter]);
    complete.push_back(all);
  }
  return complete;
}

}  // namespace ddpsim
