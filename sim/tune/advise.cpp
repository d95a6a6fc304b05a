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
#include "ddp_settings.hpp"
#include "ddpsim/sim/engine/parallel.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "reach.hpp"
#include "setting.hpp"

namespace ddpsim {
namespace {

/// As a share of the measurable: how much another setting must add to a combination, or a second
/// number to a cap.
constexpr double kEarnsItsPlace = 0.25;
/// How many combinations with a setting that changes numerics are tried, for the best of each kind.
constexpr std::size_t kMostWithNumerics = 5;

Job steady(const Job& job) {
  SimulationOptions options = job.options();
  options.iterations = 0;
  return job.with(std::move(options));
}

/// The kind of a setting, such as "NCCL_ALGO" or "accumulate". Settings of one kind exclude each
/// other.
std::string kind_of(const Setting& setting) {
  return setting.name.substr(0, setting.name.find_first_of("= "));
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
    std::vector<Candidate> singles = weighed(settings_of(job_));
    best_of_each_nccl_variable(singles);
    add_partial_casts(singles);
    if (options_.caps) add_caps(job_, singles);
    std::vector<Candidate> found = singles;
    const Candidate combined = combine(singles);
    if (combined.settings.size() > 1) found.push_back(combined);
    if (!combined.settings.empty())
      for (const Candidate& with : with_numerics(combined, singles)) found.push_back(with);
    return advice(found);
  }

  std::optional<AdviceRow> best_single() {
    std::vector<Candidate> singles = weighed(settings_of(job_));
    std::erase_if(singles, [](const Candidate& one) {
      return !one.worth || one.settings.front().changes_batch;
    });
    const auto best = std::ranges::max_element(singles, {}, expected_of);
    return best == singles.end() ? std::nullopt : std::optional(row(*best));
  }

 private:
  struct Candidate {
    std::vector<Setting> settings;
    WeighedGain gain;
    Bytes peak;
    bool worth = false;
    /// Why it is not worth it although it gains a measurable amount.
    std::string doubt;
    std::string error;
  };
  static Duration expected_of(const Candidate& candidate) { return candidate.gain.expected; }
  static bool changes_numerics(const Candidate& candidate) {
    return std::ranges::any_of(candidate.settings, &Setting::changes_numerics);
  }

  Candidate weigh(std::vector<Setting> settings) const {
    Candidate candidate{
        .settings = std::move(settings), .gain = {}, .peak = {}, .doubt = {}, .error = {}};
    const Change change = together(candidate.settings);
    candidate.peak = peak_memory(change(job_)).total();
    if (options_.memory && candidate.peak > *options_.memory) {
      candidate.error =
          fmt::format("needs {} of memory per GPU, which has {}", rounded_size_text(candidate.peak),
                      rounded_size_text(*options_.memory));
      return candidate;
    }
    const ChangeTraits traits = traits_of(candidate.settings);
    candidate.gain = gains_.of(change, traits);
    for (const Setting& setting : candidate.settings)
      candidate.gain.gain.high = std::max(candidate.gain.gain.high, setting.may_save);
    if (contradicted()) return candidate;
    if (traits.spares_host && gains_.may_be_profilers()) {
      if (candidate.gain.gain.high >= measurable_)
        candidate.doubt = "the profiler may have caused these waits; pass --measured-step to tell";
      return candidate;
    }
    if (candidate.gain.gain.value < measurable_) return candidate;
    for (const Setting& setting : candidate.settings)
      if (!setting.only_a_run_tells.empty()) {
        candidate.gain.gain.low = std::min(candidate.gain.gain.low, Duration());
        candidate.gain.expected = candidate.gain.expected.scaled(0.5);
        candidate.doubt = setting.only_a_run_tells;
        return candidate;
      }
    if (!is_worth(candidate.gain, measurable_))
      candidate.doubt = "it may cost more than it is expected to gain";
    else if (!is_nowhere_slower(job_, change, traits, candidate.gain.expected, options_.tuning))
      candidate.doubt = "it does not gain under every PyTorch and NCCL version that may run";
    else if (auto doubted = reach_.doubt(change, candidate.gain, traits))
      candidate.doubt = std::move(doubted->because);
    candidate.worth = candidate.doubt.empty();
    return candidate;
  }

  bool contradicted() const {
    return options_.tuning.replay && options_.tuning.replay->contradicted();
  }

  std::vector<Candidate> weighed(const std::vector<Setting>& settings) const {
    std::vector<Candidate> candidates(settings.size());
    for_each_index(settings.size(), options_.tuning.threads, 1, options_.tuning.progress,
                   [&](std::size_t i) { candidates[i] = weigh({settings[i]}); });
    return candidates;
  }

  /// Keeps the better of NCCL_ALGO=Ring and NCCL_ALGO=Tree.
  static void best_of_each_nccl_variable(std::vector<Candidate>& singles) {
    std::vector<Candidate> kept;
    for (Candidate& one : singles) {
      const auto same = std::ranges::find_if(kept, [&](const Candidate& other) {
        return one.settings.front().nccl_variable &&
               kind_of(other.settings.front()) == kind_of(one.settings.front());
      });
      if (same == kept.end())
        kept.push_back(std::move(one));
      else if (one.gain.expected > same->gain.expected)
        *same = std::move(one);
    }
    singles = std::move(kept);
  }

  /// Adds casts of large buckets alone if they gain measurably more than casting all.
  void add_partial_casts(std::vector<Candidate>& singles) const {
    for (const CommHook hook : {CommHook::fp16_compress, CommHook::bf16_compress}) {
      const std::optional<Setting> setting = partial_cast_setting(job_, hook);
      const auto all = std::ranges::find(
          singles, name_of(hook), [](const Candidate& one) { return one.settings.front().name; });
      if (!setting || all == singles.end()) continue;
      Candidate part = weigh({*setting});
      if (part.error.empty() && part.gain.expected >= all->gain.expected + measurable_)
        singles.push_back(std::move(part));
    }
  }

  /// Adds what `tune` recommends for a job, and the best partition as a list.
  void add_caps(const Job& job, std::vector<Candidate>& singles) const {
    const TuneResult result = tune(job, options_.tuning);
    if (result.recommended.set) singles.push_back(weigh({cap_setting(result.recommended)}));
    if (const std::optional<MeasureFirst>& first = result.recommended.measure_first) {
      Recommendation doubted;
      doubted.bucket_cap_mb = first->bucket_cap_mb;
      doubted.first_bucket_mb = first->first_bucket_mb;
      singles.push_back(weigh({cap_setting(doubted)}));
      singles.back().worth = false;
      singles.back().doubt = first->because;
    }
    if (!result.best_partition || !result.best_partition->reachable) return;
    if (const std::optional<Setting> list = cap_list_setting(job, result.best_partition->buckets))
      singles.push_back(weigh({*list}));
  }

  /// Adds a cap to an already changed job and weighs both changes together.
  Candidate with_cap(const Candidate& before) const {
    if (!options_.caps) return before;
    TuneOptions tuning = options_.tuning;
    tuning.replay.reset();  // the current step was measured, not this one
    tuning.advise_each_version = false;
    const Recommendation cap = tune(together(before.settings)(job_), tuning).recommended;
    if (!cap.set) return before;
    std::vector<Setting> settings = before.settings;
    settings.push_back(cap_setting(cap));
    if (!is_possible(together(settings)(job_), job_)) return before;
    Candidate with = weigh(std::move(settings));
    return with.worth && adds(with, before) ? with : before;
  }

  bool adds(const Candidate& with, const Candidate& without, double share = kEarnsItsPlace) const {
    return with.error.empty() &&
           with.gain.expected > without.gain.expected + measurable_.scaled(share);
  }

  /// Two settings that are possible alone may exclude each other: DDP has only one hook.
  bool add_if_possible(std::vector<Setting>& settings, const Setting& setting) const {
    const auto sets_the_same = [&](const Setting& other) {
      return !setting.call.empty() && kind_of(other) == kind_of(setting);
    };
    if (std::ranges::any_of(settings, sets_the_same)) return false;
    settings.push_back(setting);
    if (is_possible(together(settings)(job_), job_)) return true;
    settings.pop_back();
    return false;
  }

  /// Combines the settings that leave numerics as they are. Starts with the greatest expected gain;
  /// each further setting is kept if it adds something. A setting with an unmeasurable gain may
  /// join others if it can lose nothing. A setting with side effects must gain a measurable amount
  /// on top of the others.
  Candidate combine(std::vector<Candidate> singles) const {
    std::erase_if(singles, changes_numerics);
    std::ranges::stable_sort(singles, std::ranges::greater(), expected_of);
    Candidate combined;
    for (const Candidate& one : singles) {
      const bool harmless = one.error.empty() && one.gain.gain.low >= Duration();
      if ((!one.worth && !harmless) || one.settings.front().sets_buckets) continue;
      std::vector<Setting> settings = combined.settings;
      if (!add_if_possible(settings, one.settings.front())) continue;
      Candidate with = weigh(std::move(settings));
      const bool dear = combined.worth && !one.settings.front().note.empty();
      if (adds(with, combined, dear ? 1 : kEarnsItsPlace)) combined = std::move(with);
    }
    if (!combined.settings.empty()) combined = with_cap(combined);
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
      if (!kinds.insert(kind_of(one.settings.front())).second) continue;
      std::vector<Setting> settings = one.settings;
      for (const Setting& setting : combined.settings)
        if (!setting.sets_buckets) add_if_possible(settings, setting);
      Candidate with = with_cap(weigh(std::move(settings)));
      if (with.settings.size() > 1 && with.worth && adds(with, one))
        found.push_back(std::move(with));
    }
    return found;
  }

  AdviceRow row(const Candidate& candidate) const {
    AdviceRow row;
    std::vector<std::string> notes;
    for (const Setting& setting : candidate.settings) {
      row.settings.push_back(setting.name);
      if (!setting.note.empty()) notes.push_back(setting.note);
    }
    for (const std::string& note : notes) row.note += (row.note.empty() ? "" : "; ") + note;
    row.line = python_of(candidate.settings);
    row.changes_numerics = changes_numerics(candidate);
    row.changes_batch = std::ranges::any_of(candidate.settings, &Setting::changes_batch);
    row.loads_data = std::ranges::any_of(candidate.settings, &Setting::loads_data);
    for (const Setting& setting : candidate.settings)
      if (!setting.by_hand.empty())
        row.by_hand += (row.by_hand.empty() ? "" : ", ") + setting.by_hand;
    row.job_settings = settings_of_job(together(candidate.settings)(job_));
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
                  .current = settings_of_job(job_)};
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

JobSettings settings_of_job(const Job& job) {
  JobSettings settings{.torch = job.options().torch,
                       .accumulate = job.options().accumulate,
                       .ddp = job.options().ddp(),
                       .recorded_buckets = job.options().buckets.has_value(),
                       .nccl = {}};
  if (const AnalyticModel* nccl = nccl_of(job.model())) settings.nccl = nccl->tuning;
  return settings;
}

const AdviceRow* Advice::best() const {
  const auto best = std::ranges::find_if(
      rows, [](const AdviceRow& row) { return row.worth && !row.changes_numerics; });
  return best == rows.end() ? nullptr : &*best;
}

const AdviceRow* Advice::find(std::string_view settings) const {
  const auto row = std::ranges::find_if(rows, [&](const AdviceRow& one) {
    return fmt::format("{}", fmt::join(one.settings, " + ")) == settings;
  });
  return row == rows.end() ? nullptr : &*row;
}

Advice advise(const Job& job, const AdviseOptions& options) {
  return Adviser(job, options).run();
}

std::optional<AdviceRow> best_setting(const Job& job, const AdviseOptions& options) {
  return Adviser(job, options).best_single();
}

}  // namespace ddpsim
