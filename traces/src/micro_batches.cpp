#include "micro_batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

/// The distances between marked steps.
std::vector<std::size_t> distances(const std::vector<PassEvidence>& passes,
                                   const std::vector<bool>& marked) {
  std::vector<std::size_t> found;
  const PassEvidence* before = nullptr;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (!marked[i]) continue;
    if (before != nullptr) found.push_back(passes[i].step - before->step);
    before = &passes[i];
  }
  return found;
}

bool regular(const std::vector<std::size_t>& distances) {
  return !distances.empty() && distances.front() > 1 &&
         std::ranges::all_of(distances, [&](std::size_t one) { return one == distances.front(); });
}

std::vector<bool> marks(const std::vector<PassEvidence>& passes, bool PassEvidence::*mark) {
  std::vector<bool> marked;
  for (const PassEvidence& pass : passes) marked.push_back(pass.*mark);
  return marked;
}

/// The least number of micro-batches per step if only one step is marked as the last.
std::size_t at_least(const std::vector<PassEvidence>& passes, const std::vector<bool>& marked) {
  const auto at = std::ranges::find(marked, true) - marked.begin();
  const std::size_t step = passes[static_cast<std::size_t>(at)].step;
  return std::max(step - passes.front().step + 1, passes.back().step - step + 1);
}

/// Limits a count to what --accumulate accepts.
int limited(std::size_t count) {
  return static_cast<int>(std::min<std::size_t>(count, 100'000));
}

std::string may_be_more(int count, std::string_view what) {
  return fmt::format(
      "only one step {}, so a step may have more than {} micro-batches; give the number with "
      "--accumulate",
      what, count);
}

}  // namespace

MicroBatches micro_batches(const std::vector<PassEvidence>& passes) {
  MicroBatches result;
  result.last.assign(passes.size(), true);
  const std::vector<bool> reduced = marks(passes, &PassEvidence::reduced);
  const std::vector<bool> optimized = marks(passes, &PassEvidence::optimized);
  const auto synchronised = std::ranges::count(reduced, true);
  const bool all = synchronised == std::ssize(reduced);
  if (synchronised == 0 || all) {
    const std::vector<std::size_t> between = distances(passes, optimized);
    const bool only_one = passes.size() > 1 && std::ranges::count(optimized, true) == 1 && !all;
    if (!regular(between) && !only_one) return result;
    if (all && synchronised > 0) {
      result.warning = fmt::format(
          "the optimizer runs only in every {}th step, but each step all-reduces, so gradients "
          "were accumulated without no_sync(). Each micro-batch is simulated with its all-reduces",
          between.front());
      result.last = optimized;
      result.all_reduced = limited(between.front());
      return result;
    }
    result.last = optimized;
    result.count = limited(only_one ? at_least(passes, optimized) : between.front());
    result.recognised = fmt::format(
        "gradient accumulation: the optimizer runs in {} of {} steps; the others are "
        "micro-batches, a step has {}, and --accumulate is {} by default",
        std::ranges::count(optimized, true), passes.size(), result.count, result.count);
    if (only_one) result.warning = may_be_more(result.count, "runs the optimizer");
    return result;
  }
  result.last = reduced;
  const std::vector<std::size_t> between = distances(passes, reduced);
  const std::size_t count = between.empty() ? at_least(passes, reduced) : quantile(between, 0.5);
  result.count = limited(count);
  result.recognised = fmt::format(
      "gradient accumulation: {} of {} steps launch no all-reduce, so they ran under no_sync() as "
      "micro-batches. A step has {}, and --accumulate is {} by default",
      std::ssize(reduced) - synchronised, passes.size(), result.count, result.count);
  if (between.empty())
    result.warning = may_be_more(result.count, "all-reduces");
  else if (std::ranges::any_of(between, [&](std::size_t one) { return one != count; }))
    result.warning = fmt::format(
        "the steps that all-reduce do not come regularly: {} micro-batches is the lower median. "
        "Give the number with --accumulate",
        result.count);
  return result;
}

}  // namespace ddpsim
