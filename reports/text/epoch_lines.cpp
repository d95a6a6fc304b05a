#include "epoch_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {
namespace {

std::string how_many(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The time of many steps.
std::string long_time(Duration time, int digits) {
  const double seconds = time.seconds();
  if (seconds < 10) return time_text(time, digits);
  if (seconds < 600) return fmt::format("{:.{}g} s", seconds, digits + 1);
  if (seconds < 36'000) return fmt::format("{:.{}g} min", seconds / 60, digits + 1);
  return fmt::format("{:.{}g} h", seconds / 3600, digits + 1);
}

}  // namespace

std::string epoch_lines(const Epoch& epoch, int digits, const TerminalStyle& style) {
  std::string text = fmt::format("An epoch of {} samples: {} for each GPU", epoch.set.size,
                                 epoch.sampled.per_rank);
  if (epoch.sampled.repeated > 0) text += fmt::format(" ({} repeated)", epoch.sampled.repeated);
  if (epoch.sampled.dropped > 0) text += fmt::format(" ({} dropped)", epoch.sampled.dropped);
  text += fmt::format(
      ", {} of {}",
      epoch.batched.full == 1 ? "1 batch" : fmt::format("{} batches", epoch.batched.full),
      epoch.batch);
  if (epoch.batched.tail > 0)
    text += fmt::format(" and one of {}, which takes {} or more (compute in proportion to samples)",
                        epoch.batched.tail, time_text(*epoch.tail_step, digits));
  if (epoch.batched.dropped > 0)
    text += fmt::format(", the last {} of each GPU dropped", epoch.batched.dropped);
  return wrapped(text + fmt::format(": {} in {}.", how_many(epoch.steps, "step"),
                                    long_time(epoch.time, digits)),
                 style.width, kIndent);
}

std::string joined_lines(const JoinedEpoch& epoch, int digits, const TerminalStyle& style) {
  const auto of_join = std::ranges::count_if(epoch.iteration, &JoinCollective::of_join);
  const Duration more = epoch.step - epoch.step_without;
  std::string text = fmt::format("Join adds {} to an iteration, {} a step. ",
                                 how_many(of_join, "small all-reduce"),
                                 time_text(std::max(more, Duration()), digits));
  if (epoch.inputs.throw_on_early_termination && epoch.inputs.least < epoch.inputs.most)
    text += fmt::format(
        "All ranks raise an error after {}, when the first one runs out of inputs: {} are not "
        "trained on.",
        how_many(epoch.iterations, "iteration"), how_many(epoch.skipped, "input"));
  else
    text += fmt::format("The epoch has {}, {} of them with ranks that have joined and send zeros.",
                        how_many(epoch.iterations, "iteration"), epoch.tail);
  return wrapped(text + fmt::format(" It takes {}.", long_time(epoch.time, digits)), style.width,
                 kIndent);
}

}  // namespace ddpsim
