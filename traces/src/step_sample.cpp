#include "step_sample.hpp"

#include <algorithm>

namespace ddpsim {

Duration span(std::int64_t from_ns, std::int64_t to_ns) {
  return Duration::picoseconds((to_ns - from_ns) * 1000);
}

std::vector<RecordedCollective> recorded_collectives(const RecordedStep& step) {
  std::vector<RecordedCollective> collectives;
  if (!std::ranges::all_of(step.reducer,
                           [](const Collective& one) { return one.bytes.has_value(); }))
    return collectives;
  for (const Collective& one : step.reducer)
    collectives.push_back({.bytes = *one.bytes,
                           .launch = span(step.backward_start_ns, one.launch_ns),
                           .start = span(step.backward_start_ns, one.start_ns),
                           .duration = span(one.start_ns, one.end_ns),
                           .channels = static_cast<int>(one.channels)});
  return collectives;
}

StepSample sample_of(const TraceRecords& records, std::size_t index, const RecordedStep& step) {
  StepSample sample{.name = step.name,
                    .forward = span(step.first_ns, step.backward_start_ns),
                    .backward = span(step.backward_start_ns, step.backward_end_ns),
                    .iteration = {},
                    .collectives = recorded_collectives(step)};
  if (index + 1 < records.steps().size())
    if (const auto next = first_activity(records, index + 1); next && *next > step.first_ns)
      sample.iteration = span(step.first_ns, *next);
  return sample;
}

}  // namespace ddpsim
