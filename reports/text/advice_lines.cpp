#include "advice_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace ddpsim {
namespace {

/// "PyTorch 2.5 and newer", "PyTorch 1.6 to 2.4".
std::string versions_text(const VersionRange& versions) {
  if (versions.to == kNewestTorch)
    return fmt::format("PyTorch {} and newer", to_string(versions.from));
  if (versions.from == versions.to) return "PyTorch " + to_string(versions.from);
  return fmt::format("PyTorch {} to {}", to_string(versions.from), to_string(versions.to));
}

/// What one case of AdviceByVersion or AdviceByCause advises, in words.
template <typename Advice>
std::string advice_text(const Advice& advice, const std::optional<CurrentBuckets>& current,
                        int digits, TimeUnit unit) {
  if (!advice.set) return "keep " + kept(current);
  std::vector<std::string> settings;
  if (advice.bucket_cap_mb)
    settings.push_back(fmt::format("bucket_cap_mb={}", *advice.bucket_cap_mb));
  if (advice.first_bucket_mb)
    settings.push_back(fmt::format("a first bucket of {} MiB", *advice.first_bucket_mb));
  if (settings.empty()) settings.emplace_back("the default");
  const Duration gain = advice.gain.value;
  return gain < Duration() ? fmt::format("{} costs {}", fmt::join(settings, " and "),
                                         time_text(-gain, digits, unit))
                           : fmt::format("{} saves {} or more", fmt::join(settings, " and "),
                                         time_text(gain, digits, unit));
}

}  // namespace

GainText gain_text(const Gain& gain, int digits, TimeUnit unit) {
  const int shown = digits_apart(in_unit(gain.low, unit), in_unit(gain.high, unit), digits);
  return {time_number(gain.value, shown, unit), time_interval(gain.low, gain.high, shown, unit)};
}

std::string kept(const std::optional<CurrentBuckets>& current) {
  if (!current) return "the default bucket_cap_mb";
  if (current->recorded) return "the current buckets";
  if (current->point.bucket_cap_mb)
    return fmt::format("bucket_cap_mb={}", *current->point.bucket_cap_mb);
  return fmt::format("the first bucket of {} MiB", current->point.first_bucket_mb.value_or(0));
}

std::string cause_lines(const TuneResult& result, const std::optional<Replay>& replay, int digits,
                        TimeUnit unit, const TerminalStyle& style) {
  // Share of the step. Two measurements of one job differ by more.
  constexpr double kMissed = 0.01;
  const std::vector<AdviceByCause>& advices = result.by_cause;
  if (advices.empty() || !replay || replay->missed_share() < kMissed) return "";
  if (std::ranges::none_of(advices, &AdviceByCause::set)) return "";
  std::string lines =
      fmt::format("The replay differs from the current step by {}. If the difference is in:\n",
                  time_text(replay->missed(), digits, unit));
  for (const AdviceByCause& advice : advices)
    lines += wrapped(fmt::format("  {}: {}", name_of(advice.cause),
                                 advice_text(advice, result.current, digits, unit)),
                     style.width, 4);
  return lines;
}

std::string version_lines(const TuneResult& result, int digits, TimeUnit unit,
                          const TerminalStyle& style) {
  const std::vector<AdviceByVersion>& advices = result.by_version;
  if (advices.empty()) return "";
  if (result.recommended.set) {
    VersionRange all = advices.front().versions;
    all.to = advices.back().versions.to;
    const auto least = std::ranges::min_element(
        advices, {}, [](const AdviceByVersion& advice) { return advice.gain.value; });
    const bool gains = least->gain.value >= result.recommended.measurable;
    return wrapped(
        fmt::format(
            "The PyTorch version is unknown (--torch): this {} {}{}.",
            gains ? "holds for" : "is never slower, but not always faster, under",
            versions_text(all),
            gains ? fmt::format(", saving {} or more", time_text(least->gain.value, digits, unit))
                  : ""),
        style.width, 2);
  }
  if (std::ranges::none_of(advices, &AdviceByVersion::set)) return "";
  std::string lines =
      "The PyTorch version is unknown. Pass --torch to get one answer; until then:\n";
  for (const AdviceByVersion& advice : advices)
    lines += wrapped(fmt::format("  {}: {}", versions_text(advice.versions),
                                 advice_text(advice, result.current, digits, unit)),
                     style.width, 4);
  return lines;
}

}  // namespace ddpsim
