#include "cap_choices.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "ddpsim/sim/engine/parallel.hpp"

namespace ddpsim {
namespace {

/// Weighing a setting's gain simulates some dozens of steps.
constexpr std::size_t kGainsPerThread = 2;
/// As a share of the measurable: gains that lie closer count as equal.
constexpr double kAsGood = 0.5;

/// The part of an ascending row of caps around `cap` in which no cap that people type is missing.
std::vector<CapChoice> around(const std::vector<CapChoice>& row, double cap) {
  const auto place = [](const CapChoice& one) {
    return std::ranges::upper_bound(kTypedCaps, *one.cap) - kTypedCaps.begin();
  };
  std::size_t low = 0;
  while (*row[low].cap < cap) ++low;
  std::size_t high = low;
  while (low > 0 && place(row[low]) - place(row[low - 1]) <= 1) --low;
  while (high + 1 < row.size() && place(row[high + 1]) - place(row[high]) <= 1) ++high;
  return {row.begin() + static_cast<std::ptrdiff_t>(low),
          row.begin() + static_cast<std::ptrdiff_t>(high) + 1};
}

}  // namespace

CapChoices::CapChoices(const Gains& gains, const TuneOptions& tuning, const CurvePoint& standard,
                       const CurvePoint& baseline, Duration measurable)
    : gains_(gains),
      tuning_(tuning),
      standard_(standard),
      baseline_(baseline),
      measurable_(measurable),
      typed_(typed_caps(gains.job(0))),
      cap_is_first_limit_(cap_holds_for_first_bucket(gains.job(0).options().torch)) {}

/// Whether only a cap must be passed: the first bucket follows it or is the default's.
bool CapChoices::is_simple(const CurvePoint& point) const {
  return is_default(point) ||
         (point.bucket_cap_mb &&
          (cap_is_first_limit_ || point.first_bucket_mb == standard_.first_bucket_mb));
}

/// Whether nothing must be passed.
bool CapChoices::is_default(const CurvePoint& point) const {
  return !point.bucket_cap_mb && point.first_bucket_mb == standard_.first_bucket_mb;
}

/// The settings that give this bucketing as people type them. Empty if nobody would type any.
std::vector<CapChoice> CapChoices::typed(const Bucketing& bucketing, std::size_t index) const {
  const CurvePoint& point = bucketing.point;
  if (is_default(point)) return {{.index = index, .cap = {}, .first = {}, .gain = {}}};
  std::optional<double> first;
  if (!is_simple(point)) {
    const std::vector<double> firsts = caps_within(typed_, bucketing.first_range_mb);
    if (firsts.empty()) return {};
    first = firsts[(firsts.size() - 1) / 2];
  }
  std::vector<CapChoice> settings;
  if (!point.bucket_cap_mb)
    settings.push_back({.index = index, .cap = {}, .first = first, .gain = {}});
  else if (!tuning_.caps.empty())
    settings.push_back({.index = index, .cap = point.bucket_cap_mb, .first = first, .gain = {}});
  else
    for (const double cap : caps_within(typed_, point.cap_range_mb))
      settings.push_back({.index = index, .cap = cap, .first = first, .gain = {}});
  return settings;
}

/// Mean of the predicted gain over the readings.
Duration CapChoices::mean_gain(const CurvePoint& point) const {
  const Duration gain = baseline_.iteration - point.iteration;
  if (!point.if_communication) return gain;
  return (gain + *baseline_.if_communication - *point.if_communication).scaled(0.5);
}

bool CapChoices::gains_enough(const Candidates& candidates, std::size_t i) const {
  return candidates[i].point.reachable && mean_gain(candidates[i].point) >= measurable_;
}

std::vector<CapChoice> CapChoices::gaining(Candidates& candidates) const {
  std::vector<CapChoice> found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::vector<CapChoice> settings = typed(candidates.all()[i], i);
    if (settings.empty()) continue;
    candidates.simulate(i);
    if (gains_enough(candidates, i)) found.insert(found.end(), settings.begin(), settings.end());
  }
  std::vector<std::size_t> weighed;
  for (const CapChoice& setting : found)
    if (weighed.empty() || weighed.back() != setting.index) weighed.push_back(setting.index);
  std::vector<WeighedGain> gains(weighed.size());
  for_each_index(weighed.size(), tuning_.threads, kGainsPerThread, tuning_.progress,
                 [&](std::size_t k) { gains[k] = gain(candidates, weighed[k]); });
  for (CapChoice& setting : found)
    setting.gain = gains[static_cast<std::size_t>(std::ranges::lower_bound(weighed, setting.index) -
                                                  weighed.begin())];
  return found;
}

const CapChoice& surest(const std::vector<CapChoice>& settings) {
  return *std::ranges::max_element(settings, {},
                                   [](const CapChoice& setting) { return setting.gain.gain.low; });
}

std::vector<CapChoice> CapChoices::in_order_of_preference(const Candidates& candidates,
                                                          std::vector<CapChoice> settings) const {
  constexpr std::size_t kMost = 5;
  std::erase_if(settings, [&](const CapChoice& one) { return !is_worth(one.gain, measurable_); });
  if (settings.empty()) return {};
  const Duration slack = measurable_.scaled(kAsGood);
  // One number is easier to handle than two, so the second must earn its place.
  const auto rank = [&](const CapChoice& one) {
    const bool simple = is_simple(candidates[one.index].point);
    return one.gain.expected - (simple ? Duration() : measurable_.scaled(0.25));
  };
  const CapChoice most = *std::ranges::max_element(settings, {}, rank);
  std::vector<CapChoice> row;
  if (most.cap && !most.first) {
    for (const CapChoice& one : settings)
      if (one.cap && !one.first && one.gain.expected + slack >= most.gain.expected)
        row.push_back(one);
    std::ranges::sort(row, {}, &CapChoice::cap);
    row = around(row, *most.cap);
    const auto middle = static_cast<std::ptrdiff_t>((row.size() - 1) / 2);
    std::vector<CapChoice> outwards{row[static_cast<std::size_t>(middle)]};
    for (std::ptrdiff_t off = 1; outwards.size() < row.size(); ++off)
      for (const std::ptrdiff_t at : {middle - off, middle + off})
        if (at >= 0 && at < std::ssize(row)) outwards.push_back(row[static_cast<std::size_t>(at)]);
    row = std::move(outwards);
  }
  std::ranges::stable_sort(settings, std::ranges::greater(), rank);
  row.insert(row.end(), settings.begin(), settings.end());
  std::vector<CapChoice> preferred;
  for (const CapChoice& one : row) {
    const auto same_buckets = [&](const CapChoice& other) { return other.index == one.index; };
    if (preferred.size() == kMost) break;
    if (std::ranges::any_of(preferred, same_buckets)) continue;
    preferred.push_back(one);
    preferred.back().cap = least_unusual(candidates, one);
  }
  return preferred;
}

std::optional<double> CapChoices::least_unusual(const Candidates& candidates,
                                                const CapChoice& setting) const {
  constexpr double kDefault = 25;
  if (!setting.cap || !tuning_.caps.empty()) return setting.cap;
  const std::vector<double> caps =
      caps_within(typed_, candidates[setting.index].point.cap_range_mb);
  return *std::ranges::min_element(
      caps, {}, [](double cap) { return std::max(cap / kDefault, kDefault / cap); });
}

WeighedGain CapChoices::gain(const Candidates& candidates, std::size_t i) const {
  return gains_.of(candidates.change_to(i), kBucketsAlone);
}

}  // namespace ddpsim
