#include "ddpsim/sim/lead.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ddpsim/sim/assert.hpp"

#include "shared_errors.hpp"
#include "uncertainty.hpp"
#include "upgrade.hpp"

namespace ddpsim {
namespace {

const WorkTime::Moved* moved_by(ErrorSource source, const WorkTime& work) {
  const auto found = std::ranges::find(work.moved, source, &WorkTime::Moved::source);
  return found == work.moved.end() ? nullptr : &*found;
}

double ratio(double fast, double slow) {
  return slow / fast;
}

double percent(double times_as_fast) {
  return 100 * (times_as_fast - 1);
}

/// Ratios have no unit; as times they combine as those of a step do.
Duration as_time(double deviation) {
  return Duration::microseconds(1e6 * deviation);
}
double from_time(Duration deviation) {
  return deviation.microseconds() / 1e6;
}

/// What each source by itself makes of the ratio.
std::vector<Sensitivity> deviations(const WorkTime& fast, const WorkTime& slow) {
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

  std::vector<Sensitivity> all;
  const auto add = [&](ErrorSource source, const std::vector<Sensitivity>& parts) {
    const Spread together = combine(parts);
    all.push_back({source, together.low, together.high});
  };
  for (const WorkTime::Moved& own : fast.moved) {
    const WorkTime::Moved* other = moved_by(own.source, slow);
    const double shared = other ? shared_share(own.source, fast.job, slow.job) : 0;
    std::vector<Sensitivity> parts = {moved(own.source, 1 - shared, bounds(own), slow_as_expected)};
    if (other != nullptr) {
      parts.push_back(moved(own.source, shared, bounds(own), bounds(*other)));
      parts.push_back(moved(own.source, 1 - shared, fast_as_expected, bounds(*other)));
    }
    add(own.source, parts);
  }
  for (const WorkTime::Moved& own : slow.moved)
    if (moved_by(own.source, fast) == nullptr)
      add(own.source, {moved(own.source, 1, fast_as_expected, bounds(own))});
  // Both steps would be measured, or were.
  for (const WorkTime* one : {&fast, &slow})
    if (!one->measured) {
      const Duration noise = as_time(kMeasurementNoise * expected);
      all.push_back(sensitivity(ErrorSource::measurement_noise, -noise, noise));
    }
  return all;
}

/// Nothing tells them apart but their names.
bool is_same(const WorkTime& a, const WorkTime& b) {
  return a.expected == b.expected && a.measured == b.measured && a.moved == b.moved &&
         is_upgrade(a.job.cluster(), b.job.cluster()) &&
         is_upgrade(b.job.cluster(), a.job.cluster());
}

/// Of what the two take, whatever is counted: time or money.
Lead lead_by(const WorkTime& fast, const WorkTime& slow) {
  const double expected = ratio(fast.expected, slow.expected);
  const std::vector<Sensitivity> all = deviations(fast, slow);
  const Spread spread = combine(all);
  Lead lead{.percent = percent(expected),
            .low_percent = percent(expected + from_time(spread.low)),
            .high_percent = percent(expected + from_time(spread.high))};
  for (const Sensitivity& one : all)
    if (one.width() > Duration())
      lead.sources.push_back({one.source, percent(expected + from_time(one.low)),
                              percent(expected + from_time(one.high))});
  std::ranges::stable_sort(lead.sources, [](const LeadSource& a, const LeadSource& b) {
    return a.high_percent - a.low_percent > b.high_percent - b.low_percent;
  });
  return lead;
}

bool does_nothing(const WorkTime& a, const WorkTime& b) {
  return std::min(a.expected, b.expected) <= 0;  // a step of nothing has no speed
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
  WorkTime sum{.job = works.front().job, .measured = true};
  for (std::size_t k = 0; k < works.size(); ++k) {
    const WorkTime work = scaled(works[k], weights[k]);
    for (const WorkTime::Moved& moved : work.moved) {
      if (moved_by(moved.source, sum) == nullptr)
        sum.moved.push_back({moved.source, sum.expected, sum.expected});
    }
    for (WorkTime::Moved& moved : sum.moved) {
      const WorkTime::Moved* own = moved_by(moved.source, work);
      moved.at_one += own ? own->at_one : work.expected;
      moved.at_other += own ? own->at_other : work.expected;
    }
    sum.expected += work.expected;
    sum.measured = sum.measured && work.measured;
  }
  return sum;
}

Lead lead(const WorkTime& fast, const WorkTime& slow) {
  if (does_nothing(fast, slow)) return {};
  if (is_same(fast, slow)) return {.same = true};
  Lead lead = lead_by(fast, slow);
  const bool gains = is_upgrade(slow.job.cluster(), fast.job.cluster());
  const bool loses = !gains && is_upgrade(fast.job.cluster(), slow.job.cluster());
  if (gains || loses) lead.other_choice = other_choice(slow.job, fast.job);
  lead.upgrade_is_slower = loses && lead.percent > 0;
  // With more of everything and the same choice no collective takes longer, whatever is not known of both.
  const bool measured = fast.measured || slow.measured;
  if (gains && !lead.other_choice && !measured && lead.percent >= 0) {
    lead.never_slower = true;
    lead.low_percent = std::max(0.0, lead.low_percent);
  }
  return lead;
}

Lead lead_in_cost(const WorkTime& cheap, double cheap_usd_per_hour, const WorkTime& dear,
                  double dear_usd_per_hour) {
  if (does_nothing(cheap, dear)) return {};
  if (cheap_usd_per_hour == dear_usd_per_hour && is_same(cheap, dear)) return {.same = true};
  return lead_by(scaled(cheap, cheap_usd_per_hour), scaled(dear, dear_usd_per_hour));
}

}  // namespace ddpsim
