#include "step_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "micro_batches.hpp"
#include "step_sample.hpp"

namespace ddpsim {
namespace {

/// A complete step, with all gradients and its backward on the GPU.
struct Candidate {
  std::size_t step = 0;
  std::string name;
  std::int64_t backward_ns = 0;
  std::size_t gradients = 0;
  /// Whether a step follows. Otherwise the start of the next step is unknown.
  bool has_successor = false;
  PassEvidence evidence = {};
  bool last = true;  ///< last micro-batch of its step
  StepSample sample = {};
};

[[noreturn]] void refuse(const std::string& file, std::string message, Hint hint) {
  throw InputError({file, "", std::move(message), std::move(hint)});
}

std::vector<Candidate> complete_steps(const TraceRecords& records, const std::string& file) {
  std::vector<Candidate> candidates;
  std::size_t most = 0;
  for (std::size_t i = 0; i < records.steps().size(); ++i) {
    const auto step = recorded_step(records, i);
    if (!step) continue;
    const HostSpan& span = records.steps()[i].span;
    candidates.push_back(
        {.step = i,
         .name = step->name,
         .backward_ns = step->backward_end_ns - step->backward_start_ns,
         .gradients = step->gradients.size(),
         .has_successor = i + 1 < records.steps().size() && first_activity(records, i + 1),
         .evidence = {.step = i,
                      .reduced = !step->reducer.empty() || step->last_bucket_ns,
                      .optimized = records.optimizer_end(span.start_ns, span.end_ns).has_value()},
         .sample = sample_of(records, i, *step)});
    most = std::max(most, step->gradients.size());
  }
  std::erase_if(candidates, [&](const Candidate& one) { return one.gradients < most; });
  if (candidates.empty())
    refuse(file,
           "no complete step: none holds both AccumulateGrad events and the GPU work they launched",
           "Record at least one whole step: call prof.step() after each");
  return candidates;
}

/// Chooses the recorded pass whose backward time is the median (with an even number, the lower of
/// the two in the middle), and words the sentence that reports it. Only passes that end a step are
/// considered, which is the last micro-batch under accumulation. If any of them is followed by
/// another step, only followed ones are considered, because otherwise the time from step to step is
/// unknown.
std::pair<Candidate, std::string> median_step(const std::vector<Candidate>& candidates,
                                              const std::string& names) {
  const std::size_t count = candidates.size();
  const bool accumulated = !std::ranges::all_of(candidates, &Candidate::last);
  const bool followed = std::ranges::any_of(
      candidates, [](const Candidate& one) { return one.has_successor && one.last; });
  std::vector<std::pair<std::int64_t, std::size_t>> by_backward;
  for (std::size_t i = 0; i < count; ++i)
    if (candidates[i].last && (candidates[i].has_successor || !followed))
      by_backward.emplace_back(candidates[i].backward_ns, i);
  const std::string among = by_backward.size() == count
                                ? ""
                                : fmt::format(" of the {} that {}", by_backward.size(),
                                              accumulated ? "end a step" : "another follows");
  const Candidate& chosen = candidates[quantile(std::move(by_backward), 0.5).second];
  if (count == 1)
    return {chosen, fmt::format("1 complete iteration ({}), its backward takes {:.3f} ms", names,
                                static_cast<double>(chosen.backward_ns) / 1e6)};
  return {chosen, fmt::format("{} complete iterations ({}); took {}, whose backward is the lower "
                              "median{}: {:.3f} ms",
                              count, names, chosen.name, among,
                              static_cast<double>(chosen.backward_ns) / 1e6)};
}

/// Chooses a step, with the sentence that reports it.
std::pair<Candidate, std::string> choose(const std::vector<Candidate>& candidates,
                                         const ImportOptions& options, const std::string& file) {
  const std::size_t count = candidates.size();
  const std::string names =
      count == 1 ? candidates.front().name
                 : fmt::format("{} to {}", candidates.front().name, candidates.back().name);
  if (!options.step.empty()) {
    const auto named = std::ranges::find(candidates, options.step, &Candidate::name);
    if (named == candidates.end())
      refuse(file, fmt::format("it holds no complete {}, only {}", options.step, names),
             "Give traces of the same steps");
    return {*named, fmt::format("took {}", named->name)};
  }
  if (options.iteration) {
    const std::int64_t wanted = *options.iteration;
    if (wanted < 0 || static_cast<std::uint64_t>(wanted) >= count)
      refuse(file,
             fmt::format("there is no iteration {}; complete iterations: {} ({})", wanted, count,
                         names),
             fmt::format("Expected --iteration 0 to {}", count - 1));
    const Candidate& chosen = candidates[static_cast<std::size_t>(wanted)];
    return {chosen, fmt::format("iteration {} of {} ({}): {}", wanted, count, names, chosen.name)};
  }
  return median_step(candidates, names);
}

/// Reports steps that were split, and what remains unknown about them.
void note_parts(const TraceRecords& records, ChosenStep& result) {
  const auto divided =
      std::ranges::find_if(records.steps(), [](const StepMarker& step) { return step.parts > 1; });
  if (divided == records.steps().end()) return;
  result.recognised.push_back(fmt::format(
      "one step of the trace holds {} backward passes, so it was split", divided->parts));
  if (records.optimizers_seen() || result.accumulate > 1) return;
  result.warnings.push_back(
      fmt::format("no Optimizer.step is recorded, so these {0} passes are assumed to be steps. If "
                  "they are micro-batches of one step, pass --accumulate {0}",
                  divided->parts));
}

/// The earlier micro-batches of a step: their number, each with the mean of the recorded times.
std::optional<EarlierMicroBatches> earlier_micro_batches(const std::vector<Candidate>& candidates,
                                                         const MicroBatches& accumulation) {
  EarlierMicroBatches earlier{.count = std::max(accumulation.count, accumulation.all_reduced) - 1,
                              .all_reduced = std::max(accumulation.all_reduced - 1, 0),
                              .compute = {},
                              .exposed = {}};
  std::int64_t seen = 0;
  for (const Candidate& one : candidates) {
    if (one.last || !one.sample.backward) continue;
    const Duration compute = one.sample.forward.value_or(Duration()) + *one.sample.backward;
    const Duration rest = std::max(one.sample.iteration.value_or(compute) - compute, Duration());
    earlier.compute += compute + (earlier.all_reduced > 0 ? Duration() : rest);
    if (earlier.all_reduced > 0) earlier.exposed += rest;
    ++seen;
  }
  if (earlier.count < 1 || seen == 0) return std::nullopt;
  const double each = static_cast<double>(earlier.count) / static_cast<double>(seen);
  earlier.compute = earlier.compute.scaled(each);
  earlier.exposed = earlier.exposed.scaled(each);
  return earlier;
}

}  // namespace

ChosenStep choose_step(const TraceRecords& records, const ImportOptions& options,
                       const std::string& file) {
  std::vector<Candidate> complete = complete_steps(records, file);
  ChosenStep result;
  if (const std::size_t steps = records.steps().size(); complete.size() < steps)
    result.warnings.push_back(fmt::format("{} of {} steps are not complete and were left out",
                                          steps - complete.size(), steps));
  std::vector<PassEvidence> passes;
  for (const Candidate& one : complete) passes.push_back(one.evidence);
  MicroBatches accumulation = micro_batches(passes);
  for (std::size_t i = 0; i < complete.size(); ++i) complete[i].last = accumulation.last[i];
  result.accumulate = accumulation.count;
  result.earlier = earlier_micro_batches(complete, accumulation);
  if (!accumulation.recognised.empty())
    result.recognised.push_back(std::move(accumulation.recognised));
  if (!accumulation.warning.empty()) result.warnings.push_back(std::move(accumulation.warning));
  note_parts(records, result);
  auto [chosen, sentence] = choose(complete, options, file);
  result.index = chosen.step;
  result.step = recorded_step(records, chosen.step).value();
  result.recognised.push_back(std::move(sentence));
  if (!chosen.last)
    result.warnings.push_back(
        fmt::format("{} is not the last micro-batch of its step: neither all-reduces nor the "
                    "optimizer are in it",
                    chosen.name));
  for (Candidate& one : complete)
    if (one.last == chosen.last) result.complete.push_back(std::move(one.sample));
  return result;
}

}  // namespace ddpsim
