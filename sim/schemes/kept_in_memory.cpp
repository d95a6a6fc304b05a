#include "kept_in_memory.hpp"

#include <algorithm>

#include "memory_parts.hpp"

namespace ddpsim {

MixedSizes mixed_sizes(const Job& job, std::optional<Dtype> param_dtype,
                       std::int64_t persistent_up_to) {
  MixedSizes found;
  for (const Parameter& parameter : job.workload().parameters) {
    if (parameter.ignored) continue;
    const std::int64_t elements = elements_of(parameter);
    found.elements += elements;
    found.largest = std::max(found.largest, elements);
    if (!parameter.frozen) found.trained += elements;
    if (elements <= persistent_up_to) found.persistent += elements;
    found.size = std::max(found.size, element_size(param_dtype.value_or(parameter.dtype)));
  }
  const Bytes one(element_size(Dtype::float32));
  const OptimizerBytes optimizer = optimizer_bytes(job.options().optimizer, Dtype::float32, one);
  found.states = static_cast<int>(optimizer.state.count() / one.count());
  return found;
}

Bytes all_gradients(const Job& job) {
  Bytes all;
  for (const Bytes gradient : job.gradients()) all += gradient;
  return all;
}

}  // namespace ddpsim
