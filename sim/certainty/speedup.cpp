#include "ddpsim/sim/certainty/speedup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

#include "dominance.hpp"
#include "shared_errors.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

bool under_one_scheme(const WorkTime& a, const WorkTime& b) {
  return a.jobs.front().options().scheme == b.jobs.front().options().scheme;
}

/// The error of `work` from the source of `moved`, and for its workload if the source belongs to
/// one workload. Null if there is none.
const WorkTime::Moved* same_move(const WorkTime::Moved& moved, const WorkTime& work) {
  const auto found = std::ranges::find_if(work.moved, [&](const WorkTime::Moved& own) {
    return own.source == moved.source && own.workload == moved.workload;
  });
  return found == work.moved.end() ? nullptr : &*found;
}

/// A source of error, the workload it belongs to (if several have one each), and its effect on a
/// ratio.
struct Deviation {
  Sensitivity moves;
  std::optional<std::size_t> workload;
};

double ratio(double fast, double slow) {
  return slow / fast;
}

double percent(double times_as_fast) {
  return 100 * (times_as_fast - 1);
}

/// Ratios have no unit; converted to times, they combine like the times of a step.
Duration as_time(double deviation) {
  return Duration::microseconds(1e6 * deviation);
}
double from_time(Duration deviation) {
  return deviation.microseconds() / 1e6;
}

/// The effect of each source alone on the ratio.
std::vector<Deviation> deviations(const WorkTime& fast, const WorkTime& slow) {
  const double expected = ratio(fast.expected, slow.expected);
  const auto moved = [&](ErrorSource source, double share, std::pair<double, double> of_fast,
                         std::pair<double, double> of_slow) {
    const auto deviation = [&](double fast_time, double slow_time) {
      return as_time(std::sqrt(share) * (ratio(fast_time, slow_time) - expected));
    };
    return sensitivity(source, deviation(of_fast.first, of_slow.first),
                       deviation(of_fast.second, of_slow.second));
  };
  const std::pair fast_as_expected{fast.expected, fast.expected};
  const std::pair slow_as_expected{slow.expected, slow.expected};
  const auto bounds = [](const WorkTime::Moved& of) { return std::pair{of.at_one, of.at_other}; };

  std::vector<Deviation> all;
  const auto add = [&](const WorkTime::Moved& of, std::vector<Sensitivity> parts) {
    const auto known = std::ranges::find_if(all, [&](const Deviation& one) {
      return one.moves.source == of.source && one.workload == of.workload;
    });
    if (known != all.end()) parts.push_back(known->moves);
    const Spread together = combine(parts);
    const Deviation deviation{{of.source, together.low, together.high}, of.workload};
    if (known != all.end())
      *known = deviation;
    else
      all.push_back(deviation);
  };
  for (const WorkTime::Moved& own : fast.moved) {
    const WorkTime::Moved* other = same_move(own, slow);
    // Under one scheme, it moves both by the same factor.
    if (own.source == ErrorSource::schemes && other != nullptr && under_one_scheme(fast, slow))
      continue;
    const double shared = other ? shared_share(own.source, fast.cluster(), slow.cluster()) : 0;
    std::vector<Sensitivity> parts = {moved(own.source, 1 - shared, bounds(own), slow_as_expected)};
    if (other != nullptr) {
      parts.push_back(moved(own.source, shared, bounds(own), bounds(*other)));
      parts.push_back(moved(own.source, 1 - shared, fast_as_expected, bounds(*other)));
    }
    add(own, parts);
  }
  for (const WorkTime::Moved& own : slow.moved)
    if (same_move(own, fast) == nullptr)
      add(own, {moved(own.source, 1, fast_as_expected, bounds(own))});
  // Both steps were measured, or would be.
  for (const WorkTime* one : {&fast, &slow})
    if (one->measured < one->jobs.size()) {
      const Duration noise = as_time(kMeasurementNoise * expected);
      const WorkTime::Moved own{ErrorSource::measurement_noise, 0, 0};
      add(own, {sensitivity(own.source, -noise, noise)});
    }
  return all;
}

/// Whether `to` dominates `from`: cluster and scheme decide what is sent.
bool is_dominated_by(const WorkTime& from, const WorkTime& to) {
  return under_one_scheme(from, to) && is_dominated_by(from.cluster(), to.cluster());
}

/// Whether the two differ only by name.
bool is_same(const WorkTime& a, const WorkTime& b) {
  return a.expected == b.expected && a.measured == b.measured && a.moved == b.moved &&
         is_dominated_by(a, b) && is_dominated_by(b, a);
}

/// The speedup in whatever the two works count: time or money.
Speedup speedup_by(const WorkTime& fast, const WorkTime& slow) {
  const double expected = ratio(fast.expected, slow.expected);
  const std::vector<Deviation> all = deviations(fast, slow);
  std::vector<Sensitivity> moves;
  for (const Deviation& one : all) moves.push_back(one.moves);
  const Spread spread = combine(moves);
  Speedup speedup{.percent = percent(expected),
                  .low_percent = percent(expected + from_time(spread.low)),
                  .high_percent = percent(expected + from_time(spread.high))};
  for (const auto& [moved, workload] : all)
    if (moved.width() > Duration())
      speedup.sources.push_back({moved.source, percent(expected + from_time(moved.low)),
                                 percent(expected + from_time(moved.high)), workload});
  std::ranges::stable_sort(speedup.sources, [](const SpeedupSource& a, const SpeedupSource& b) {
    return a.high_percent - a.low_percent > b.high_percent - b.low_percent;
  });
  return speedup;
}

/// Over all workloads.
std::optional<OtherChoice> largest_other_choice(const std::vector<Job>& slow,
                                                const std::vector<Job>& fast) {
  DDPSIM_ASSERT(slow.size() == fast.size(), "{} workloads are held against {}", slow.size(),
                fast.size());
  std::optional<OtherChoice> largest;
  for (std::size_t k = 0; k < slow.size(); ++k) {
    const std::optional<OtherChoice> own = other_choice(slow[k], fast[k]);
    if (own && (!largest || own->size > largest->size)) largest = own;
  }
  return largest;
}

bool does_nothing(const WorkTime& a, const WorkTime& b) {
  // A step that takes no time has no speed.
  return std::min(a.expected, b.expected) <= 0;
}

WorkTime scaled(WorkTime work, double factor) {
  work.expected *= factor;
  for (WorkTime::Moved& moved : work.moved) {
    moved.at_one *= factor;
    moved.at_other *= factor;
  }
  return work;
}

}  // namespace

WorkTime together(std::span<const WorkTime> works, std::span<const double> weights) {
  DDPSIM_ASSERT(!works.empty() && works.size() == weights.size(), "a weight for each workload");
  if (works.size() == 1) return scaled(works.front(), weights.front());
  WorkTime sum{.jobs = {}};
  for (std::size_t k = 0; k < works.size(); ++k) {
    DDPSIM_ASSERT(works[k].jobs.size() == 1, "workloads are put together once");
    WorkTime work = scaled(works[k], weights[k]);
    for (WorkTime::Moved& moved : work.moved) {
      if (belongs_to_workload(moved.source)) moved.workload = k;
      if (same_move(moved, sum) == nullptr)
        sum.moved.push_back({moved.source, sum.expected, sum.expected, moved.workload});
    }
    for (WorkTime::Moved& moved : sum.moved) {
      const WorkTime::Moved* own = same_move(moved, work);
      moved.at_one += own ? own->at_one : work.expected;
      moved.at_other += own ? own->at_other : work.expected;
    }
    sum.jobs.push_back(std::move(work.jobs.front()));
    sum.expected += work.expected;
    sum.measured += work.measured;
  }
  return sum;
}

FigureRange range_of(const WorkTime& work) {
  std::vector<Sensitivity> moves;
  for (const WorkTime::Moved& moved : work.moved)
    moves.push_back(sensitivity(moved.source, as_time(moved.at_one - work.expected),
                                as_time(moved.at_other - work.expected)));
  if (work.measured < work.jobs.size()) {
    const Duration noise = as_time(kMeasurementNoise * work.expected);
    moves.push_back(sensitivity(ErrorSource::measurement_noise, -noise, noise));
  }
  const Spread spread = combine(moves);
  return {std::max(0.0, work.expected + from_time(spread.low)), work.expected,
          work.expected + from_time(spread.high)};
}

Speedup speedup(const WorkTime& fast, const WorkTime& slow) {
  if (does_nothing(fast, slow)) return {};
  if (is_same(fast, slow)) return {.same = true};
  Speedup speedup = speedup_by(fast, slow);
  const bool gains = is_dominated_by(slow, fast);
  const bool loses = !gains && is_dominated_by(fast, slow);
  if (gains || loses) speedup.other_choice = largest_other_choice(slow.jobs, fast.jobs);
  speedup.dominating_is_slower = loses && speedup.percent > 0;
  // If one cluster dominates the other and NCCL's choices agree, no collective takes longer,
  // whatever is unknown about both.
  const bool measured = fast.measured > 0 || slow.measured > 0;
  if (gains && !speedup.other_choice && !measured && speedup.percent >= 0) {
    speedup.never_slower = true;
    speedup.low_percent = std::max(0.0, speedup.low_percent);
  }
  return speedup;
}

Speedup cheaper_by(const WorkTime& cheap, double cheap_usd_per_hour, const WorkTime& dear,
                   double dear_usd_per_hour) {
  if (does_nothing(cheap, dear)) return {};
  const bool same_price = cheap_usd_per_hour == dear_usd_per_hour;
  if (same_price && (dear_usd_per_hour == 0 || is_same(cheap, dear))) return {.same = true};
  if (cheap_usd_per_hour == 0) {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    return {.percent = kAny, .low_percent = kAny, .high_percent = kAny};
  }
  return speedup_by(scaled(cheap, cheap_usd_per_hour), scaled(dear, dear_usd_per_hour));
}

}  // namespace ddpsim
