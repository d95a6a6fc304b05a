#include "ddpsim/sim/tune/advise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "advice.hpp"
#include "advice_by_version.hpp"
#include "ddpsim/sim/engine/parallel.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "lever.hpp"
#include "reach.hpp"

namespace ddpsim {
namespace {

/// Of what can be measured: another lever must add so much to a combination, as a second number must to a cap.
constexpr double kEarnsItsPlace = 0.25;
/// Combinations with a lever that changes numerics, for the best of each kind.
constexpr std::size_t kMostWithNumerics = 5;

Job steady(const Job& job) {
  SimulationOptions options = job.options();
  options.iterations = 0;
  return job.with(std::move(options));
}

/// "NCCL_ALGO", "accumulate": levers of one kind exclude each other.
std::string kind_of(const Lever& lever) {
  return lever.name.substr(0, lever.name.find_first_of("= "));
}

class Adviser {
 public:
  Adviser(const Job& job, const AdviseOptions& options)
      : job_(steady(job)),
        options_(options),
        gains_(job_, buckets_of(job_), readings_of(measured_step(options.tuning))),
        measurable_(measurable(gains_.step_before(), options.tuning)),
        reach_(gains_, options.tuning),
        peak_(peak_memory(job_).total()) {}

  Advice run() {
    std::vector<Candidate> singles = weighed(levers_of(job_));
    best_of_each_nccl_variable(singles);
    add_partial_casts(singles);
    if (options_.caps) add_caps(job_, singles);
    std::vector<Candidate> found = singles;
    const Candidate combined = combine(singles);
    if (combined.levers.size() > 1) found.push_back(combined);
    if (!combined.levers.empty())
      for (const Candidate& with : with_numerics(combined, singles)) found.push_back(with);
    return advice(found);
  }

  std::optional<AdviceRow> best_single() {
    std::vector<Candidate> singles = weighed(levers_of(job_));
    std::erase_if(singles, [](const Candidate& one) {
      return !one.worth || one.levers.front().changes_batch;
    });
    const auto best = std::ranges::max_element(singles, {}, expected_of);
    return best == singles.end() ? std::nullopt : std::optional(row(*best));
  }

 private:
  struct Candidate {
    std::vector<Lever> levers;
    WeighedGain gain;
    Bytes peak;
    bool worth = false;
    std::string doubt;  ///< why it is not, though it gains what can be measured
    std::string error;
  };
  static Duration expected_of(const Candidate& candidate) { return candidate.gain.expected; }
  static bool changes_numerics(const Candidate& candidate) {
    return std::ranges::any_of(candidate.levers, &Lever::changes_numerics);
  }

  Candidate weigh(std::vector<Lever> levers) const {
    Candidate candidate{
        .levers = std::move(levers), .gain = {}, .peak = {}, .doubt = {}, .error = {}};
    const Change change = together(candidate.levers);
    candidate.peak = peak_memory(change(job_)).total();
    if (options_.memory && candidate.peak > *options_.memory) {
      candidate.error =
          fmt::format("needs {} of memory per GPU, of {}", rounded_size_text(candidate.peak),
                      rounded_size_text(*options_.memory));
      return candidate;
    }
    const ChangeTraits traits = traits_of(candidate.levers);
    candidate.gain = gains_.of(change, traits);
    for (const Lever& lever : candidate.levers)
      candidate.gain.gain.high = std::max(candidate.gain.gain.high, lever.may_save);
    if (contradicted()) return candidate;
    if (traits.spares_host && gains_.may_be_profilers()) {
      if (candidate.gain.gain.high >= measurable_)
        candidate.doubt = "the profiler may have made these waits, and --measured-step decides";
      return candidate;
    }
    if (candidate.gain.gain.value < measurable_) return candidate;
    for (const Lever& lever : candidate.levers)
      if (!lever.only_a_run_tells.empty()) {
        candidate.gain.gain.low = std::min(candidate.gain.gain.low, Duration());
        candidate.gain.expected = candidate.gain.expected.scaled(0.5);
        candidate.doubt = lever.only_a_run_tells;
        return candidate;
      }
    if (!is_worth(candidate.gain, measurable_))
      candidate.doubt = "it may cost more than it is expected to gain";
    else if (!is_nowhere_slower(job_, change, traits, candidate.gain.expected, options_.tuning))
      candidate.doubt = "not under every PyTorch and NCCL that may run";
    else if (auto doubted = reach_.doubt(change, candidate.gain, traits))
      candidate.doubt = std::move(doubted->because);
    candidate.worth = candidate.doubt.empty();
    return candidate;
  }

  bool contradicted() const {
    return options_.tuning.replay && options_.tuning.replay->contradicted();
  }

  std::vector<Candidate> weighed(const std::vector<Lever>& levers) const {
    std::vector<Candidate> candidates(levers.size());
    for_each_index(levers.size(), options_.tuning.threads, 1, options_.tuning.progress,
                   [&](std::size_t i) { candidates[i] = weigh({levers[i]}); });
    return candidates;
  }

  /// Of NCCL_ALGO=Ring and NCCL_ALGO=Tree the better.
  static void best_of_each_nccl_variable(std::vector<Candidate>& singles) {
    std::vector<Candidate> kept;
    for (Candidate& one : singles) {
      const auto same = std::ranges::find_if(kept, [&](const Candidate& other) {
        return one.levers.front().nccl_variable &&
               kind_of(other.levers.front()) == kind_of(one.levers.front());
      });
      if (same == kept.end())
        kept.push_back(std::move(one));
      else if (one.gain.expected > same->gain.expected)
        *same = std::move(one);
    }
    singles = std::move(kept);
  }

  /// Where casting large buckets alone gains measurably more than casting all.
  void add_partial_casts(std::vector<Candidate>& singles) const {
    for (const CommHook hook : {CommHook::fp16_compress, CommHook::bf16_compress}) {
      const std::optional<Lever> lever = partial_cast_lever(job_, hook);
      const auto all = std::ranges::find(
          singles, name_of(hook), [](const Candidate& one) { return one.levers.front().name; });
      if (!lever || all == singles.end()) continue;
      Candidate part = weigh({*lever});
      if (part.error.empty() && part.gain.expected >= all->gain.expected + measurable_)
        singles.push_back(std::move(part));
    }
  }

  /// What `tune` recommends for a job, and the best partition as a list.
  void add_caps(const Job& job, std::vector<Candidate>& singles) const {
    const TuneResult result = tune(job, options_.tuning);
    if (result.recommended.set) singles.push_back(weigh({cap_lever(result.recommended)}));
    if (const std::optional<MeasureFirst>& first = result.recommended.measure_first) {
      Recommendation doubted;
      doubted.bucket_cap_mb = first->bucket_cap_mb;
      doubted.first_bucket_mb = first->first_bucket_mb;
      singles.push_back(weigh({cap_lever(doubted)}));
      singles.back().worth = false;
      singles.back().doubt = first->because;
    }
    if (!result.best_partition || !result.best_partition->reachable) return;
    if (const std::optional<Lever> list = cap_list_lever(job, result.best_partition->buckets))
      singles.push_back(weigh({*list}));
  }

  /// A cap for a job so changed, weighed together with the change.
  Candidate with_cap(const Candidate& before) const {
    if (!options_.caps) return before;
    TuneOptions tuning = options_.tuning;
    tuning.replay.reset();  // today's step was measured, not this one
    tuning.advise_each_version = false;
    const Recommendation cap = tune(together(before.levers)(job_), tuning).recommended;
    if (!cap.set) return before;
    std::vector<Lever> levers = before.levers;
    levers.push_back(cap_lever(cap));
    if (!is_possible(together(levers)(job_), job_)) return before;
    Candidate with = weigh(std::move(levers));
    return with.worth && adds(with, before) ? with : before;
  }

  bool adds(const Candidate& with, const Candidate& without, double share = kEarnsItsPlace) const {
    return with.error.empty() &&
           with.gain.expected > without.gain.expected + measurable_.scaled(share);
  }

  /// Two that each are possible may exclude each other: only one of them can be DDP's hook.
  bool add_if_possible(std::vector<Lever>& levers, const Lever& lever) const {
    const auto sets_the_same = [&](const Lever& other) {
      return !lever.call.empty() && kind_of(other) == kind_of(lever);
    };
    if (std::ranges::any_of(levers, sets_the_same)) return false;
    levers.push_back(lever);
    if (is_possible(together(levers)(job_), job_)) return true;
    levers.pop_back();
    return false;
  }

  /// What pays together, of what leaves numerics as they are: the most expected first, each next one if it adds. What
  /// gains less than can be measured may do so beside others, where it can lose nothing. What has side effects must gain what can be
  /// measured once the others do.
  Candidate combine(std::vector<Candidate> singles) const {
    std::erase_if(singles, changes_numerics);
    std::ranges::stable_sort(singles, std::ranges::greater(), expected_of);
    Candidate combined;
    for (const Candidate& one : singles) {
      const bool harmless = one.error.empty() && one.gain.gain.low >= Duration();
      if ((!one.worth && !harmless) || one.levers.front().sets_buckets) continue;
      std::vector<Lever> levers = combined.levers;
      if (!add_if_possible(levers, one.levers.front())) continue;
      Candidate with = weigh(std::move(levers));
      const bool dear = combined.worth && !one.levers.front().note.empty();
      if (adds(with, combined, dear ? 1 : kEarnsItsPlace)) combined = std::move(with);
    }
    if (!combined.levers.empty()) combined = with_cap(combined);
    for (const Candidate& one : singles)
      if (one.worth && (!combined.worth || adds(one, combined))) combined = one;
    return combined.worth ? combined : Candidate{};
  }

  std::vector<Candidate> with_numerics(const Candidate& combined,
                                       std::vector<Candidate> singles) const {
    std::erase_if(singles,
                  [](const Candidate& one) { return !one.worth || !changes_numerics(one); });
    std::ranges::stable_sort(singles, std::ranges::greater(), expected_of);
    std::vector<Candidate> found;
    std::set<std::string> kinds;
    for (const Candidate& one : singles) {
      if (found.size() == kMostWithNumerics) break;
      if (!kinds.insert(kind_of(one.levers.front())).second) continue;
      std::vector<Lever> levers = one.levers;
      for (const Lever& lever : combined.levers)
        if (!lever.sets_buckets) add_if_possible(levers, lever);
      Candidate with = with_cap(weigh(std::move(levers)));
      if (with.levers.size() > 1 && with.worth && adds(with, one)) found.push_back(std::move(with));
    }
    return found;
  }

  AdviceRow row(const Candidate& candidate) const {
    AdviceRow row;
    std::vector<std::string> notes;
    for (const Lever& lever : candidate.levers) {
      row.levers.push_back(lever.name);
      if (!lever.note.empty()) notes.push_back(lever.note);
    }
    for (const std::string& note : notes) row.note += (row.note.empty() ? "" : "; ") + note;
    row.line = python_of(candidate.levers);
    row.changes_numerics = changes_numerics(candidate);
    row.changes_batch = std::ranges::any_of(candidate.levers, &Lever::changes_batch);
    row.loads_data = std::ranges::any_of(candidate.levers, &Lever::loads_data);
    for (const Lever& lever : candidate.levers)
      if (!lever.by_hand.empty()) row.by_hand += (row.by_hand.empty() ? "" : ", ") + lever.by_hand;
    row.setting = setting_of(together(candidate.levers)(job_));
    row.error = candidate.error;
    if (!row.error.empty()) return row;
    row.gain = candidate.gain.gain;
    row.expected = candidate.gain.expected;
    row.regret = candidate.gain.regret();
    row.iteration = gains_.step_before() - candidate.gain.gain.value;
    row.worth = candidate.worth;
    row.doubt = candidate.doubt;
    row.memory_bytes = (candidate.peak - peak_).count();
    return row;
  }

  Advice advice(std::vector<Candidate>& found) const {
    Advice advice{.iteration = gains_.step_before(),
                  .measurable = measurable_,
                  .rows = {},
                  .today = setting_of(job_)};
    std::ranges::stable_sort(found, [](const Candidate& a, const Candidate& b) {
      if (a.error.empty() != b.error.empty()) return a.error.empty();
      return a.gain.expected > b.gain.expected;
    });
    for (const Candidate& one : found) advice.rows.push_back(row(one));
    return advice;
  }

  const Job job_;
  const AdviseOptions& options_;
  const Gains gains_;
  const Duration measurable_;
  const Reach reach_;
  const Bytes peak_;
};

}  // namespace

Setting setting_of(const Job& job) {
  Setting setting{
      .ddp = job.options().ddp, .recorded_buckets = job.options().buckets.has_value(), .nccl = {}};
  if (const AnalyticModel* nccl = nccl_of(job.model())) setting.nccl = nccl->tuning;
  return setting;
}

const AdviceRow* Advice::best() const {
  const auto best = std::ranges::find_if(
      rows, [](const AdviceRow& row) { return row.worth && !row.changes_numerics; });
  return best == rows.end() ? nullptr : &*best;
}

const AdviceRow* Advice::find(std::string_view levers) const {
  const auto row = std::ranges::find_if(rows, [&](const AdviceRow& one) {
    return fmt::format("{}", fmt::join(one.levers, " + ")) == levers;
  });
  return row == rows.end() ? nullptr : &*row;
}

Advice advise(const Job& job, const AdviseOptions& options) {
  return Adviser(job, options).run();
}

std::optional<AdviceRow> best_lever(const Job& job, const AdviseOptions& options) {
  return Adviser(job, options).best_single();
}

}  // namespace ddpsim
