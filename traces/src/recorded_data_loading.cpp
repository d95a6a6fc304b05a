#include "recorded_data_loading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantile.hpp"
#include "step_sample.hpp"

namespace ddpsim {
namespace {

/// Mean without the first wait, if there is more than one.
Duration mean_of(const std::vector<Duration>& waits) {
  if (waits.size() == 1) return waits.front();
  Duration sum;
  for (std::size_t k = 1; k < waits.size(); ++k) sum += waits[k];
  return Duration::picoseconds(sum.picoseconds() / static_cast<std::int64_t>(waits.size() - 1));
}

/// Keeps the waits for data in a step that --timing compacted shortens by the GPU's gaps. A
/// profiler does not slow down the DataLoader's workers, so batches come as they were recorded.
void keep_waits_for_data(const TraceRecords& records, const ChosenStep& chosen,
                         Workload& workload) {
  constexpr double kNoticed = 0.01;  // share of a step
  Recorded recorded;
  recorded.iteration = sample_of(records, chosen.index, chosen.step).iteration;
  if (!recorded.iteration) return;
  recorded.steps = chosen.complete;
  recorded.data_loading = workload.data_loading;
  if (workload.recorded_with.accumulate == 1)
    workload.data_loading->interval = supply_interval(recorded);
  const Duration pause = *recorded.iteration - span(chosen.step.first_ns, chosen.step.last_ns);
  const Duration waited =
      std::clamp(workload.data_loading->median, Duration(), std::max(pause, Duration()));
  if (waited < recorded.iteration->scaled(kNoticed) && !workload.data_loading->interval) return;
  workload.iteration = Duration();
  workload.iteration = waited - *stall(workload);
}

std::string words_for_loading(const DataLoading& loading, bool step_known) {
  const auto ms = [](Duration time) { return fmt::format("{:.4g} ms", time.milliseconds()); };
  std::string sentence = fmt::format(
      "the trainer waited {} per batch for its DataLoader (mean of {}; median {}, 90th percentile "
      "{})",
      ms(loading.mean), loading.count, ms(loading.median), ms(loading.p90));
  if (!loading.processes)
    sentence += ", loading in its own thread (num_workers=0)";
  else if (loading.interval)
    sentence += fmt::format(": workers gave one every {}, and the step waited for them",
                            ms(*loading.interval));
  else if (!step_known)
    sentence += ": without the time between steps, it is unknown whether workers kept up";
  else
    sentence += ": workers kept up; their limit is unknown";
  return sentence;
}

}  // namespace

void describe_data_loading(const TraceRecords& records, const ChosenStep& chosen, bool compacted,
                           Imported& result) {
  if (records.node_count(TraceRecords::Node::loading) == 0) return;
  std::vector<Duration> waits;
  for (const HostSpan& call :
       records.nodes(TraceRecords::Node::loading, std::numeric_limits<std::int64_t>::min(),
                     std::numeric_limits<std::int64_t>::max()))
    waits.push_back(span(call.start_ns, call.end_ns));
  if (waits.empty()) return;
  Workload& workload = result.workload;
  DataLoading loading{.median = quantile(waits, 0.5),
                      .p90 = quantile(waits, 0.9),
                      .mean = mean_of(waits),
                      .count = static_cast<std::int64_t>(waits.size()),
                      .processes = records.loads_in_workers(),
                      .interval = {}};
  workload.data_loading = loading;
  if (compacted)
    keep_waits_for_data(records, chosen, workload);
  else if (workload.recorded_with.accumulate == 1)
    workload.data_loading->interval = supply_interval(workload);
  result.recognised.push_back(
      words_for_loading(*workload.data_loading, workload.iteration.has_value()));
}

}  // namespace ddpsim
