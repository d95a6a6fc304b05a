#include "step_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "key_checks.hpp"
#include "key_choice.hpp"
#include "key_kinds.hpp"
#include "lines_of_key.hpp"
#include "step_series.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Scope = StepTimeName::Scope;

/// With fewer steps, a slow start cannot be told from chance.
constexpr std::size_t kFewestForWarmUp = 10;

/// Turns the key's numbers into steps, and describes them.
class StepsOfKey {
 public:
  explicit StepsOfKey(const StepChoice& choice)
      : choice_(choice), found_(choice.found), checks_(choice) {}

  MeasuredSteps run() {
    if (found_.too_many)
      checks_.fail("",
                   fmt::format("has more than {} step times, or more than {} names for them",
                               kMostSteps, kMostStepKeys),
                   "Give the steps of one run; its last ones are enough");
    const StepKey& key = choose_key(choice_);
    if (!found_.mixed.empty() && key.readings.size() > 1)
      checks_.fail("", fmt::format("its steps have several settings ({})", found_.mixed),
                   "Give the steps of each setting in their own file");
    if (auto warning = checks_.require_understood(key))
      result_.warnings.push_back(std::move(*warning));
    checks_.require_steps(key);
    const bool items = choice_.asked.unit && key.asked
                           ? choice_.asked.unit->kind == StepTimeUnit::Kind::items
                           : key.meaning.of == Of::items && !is_converted(key);
    const double per_item = items ? samples_of(key) : 0;
    const bool last_alone = is_running_mean(key);
    const double planned = planned_of_taken(key);
    // A step's time is printed as 0 before the first step ends.
    const auto begun = std::ranges::find_if(key.readings, [](const StepReading& one) {
      return one.value != 0 && std::isfinite(one.value);  // a rate of 0 is endless
    });
    if (!last_alone && begun != key.readings.end())
      zeros_ = static_cast<std::size_t>(begun - key.readings.begin());
    for (std::size_t i = zeros_; i < key.readings.size(); ++i) {
      const StepReading& one = key.readings[i];
      if (!last_alone || i + 1 == key.readings.size())
        add(planned * (items ? per_item / one.value : one.value), one.line);
    }
    if (!last_alone) leave_out_warm_up();
    warn(key);
    describe(key, last_alone);
    if (items) result_.source += fmt::format("; a step has {:.6g} of the counted items", per_item);
    return std::move(result_);
  }

 private:
  bool is_converted(const StepKey& key) const {
    return key.asked && choice_.asked.unit && choice_.asked.unit->kind != StepTimeUnit::Kind::items;
  }

  /// Corrects transformers.Trainer's own mean, which divides all planned steps by the time of the
  /// steps that this run did.
  double planned_of_taken(const StepKey& key) {
    if (!key.name.ends_with("train_steps_per_second")) return 1;
    of_planned_ = true;
    if (choice_.form != StepForm::lines) return 1;
    const auto behind = [this](std::string_view words) {
      const std::size_t at = choice_.text.rfind(words);
      if (at == std::string_view::npos) return 0.0;
      std::string digits;
      for (const char c : choice_.text.substr(at + words.size(), 40)) {
        if (c >= '0' && c <= '9')
          digits += c;
        else if (c == '\n' || (!digits.empty() && c != ','))
          break;
      }
      return parse_number<double>(digits).value_or(0);
    };
    const double begun = behind("Continuing training from global step");
    if (begun <= 0) return 1;
    const double planned = behind("Total optimization steps =");
    if (!(planned > begun))
      checks_.fail(
          "",
          fmt::format("the run was resumed at step {:.0f}, but {} counts the earlier steps too",
                      begun, in_quotes(key.name)),
          "Give times of single steps, or the mean itself, such as 104ms");
    resumed_ = begun;
    return planned / (planned - begun);
  }

  void warn(const StepKey& key) {
    if (key.asked && is_time(key) && grows_by_itself(key))
      result_.warnings.push_back(fmt::format(
          "{}: {} grows from line to line like the time since the start, but is used as a step's "
          "time because you stated that",
          choice_.file, in_quotes(key.name)));
    constexpr double kRough = 0.05;
    if (key.rounding > kRough && key.rounding < 1 && !key.readings.empty())
      result_.warnings.push_back(
          fmt::format("{}: the numbers of {} have so few digits that a step may be {:.0f} % off",
                      choice_.file, in_quotes(key.name), 100 * key.rounding));
  }

  /// How many of the counted items a step has.
  double samples_of(const StepKey& key) {
    const std::optional<StepTimeUnit> unit = key.asked ? choice_.asked.unit : std::nullopt;
    const std::string states = fmt::format(
        "it states {} per second ({}: {} value{}, median {:.6g}) but no step time",
        key.meaning.tokens ? "tokens" : "samples", legible(key.name), key.readings.size(),
        key.readings.size() == 1 ? "" : "s", median_of_readings(key));
    if (key.meaning.tokens && !unit)
      checks_.fail(
          "", states,
          fmt::format("State the tokens of a step on the counted GPUs, for example 16384: {}. "
                      "--batch counts samples",
                      checks_.typed(key, "16384/step")));
    const bool each = unit ? unit->gpus.has_value() : scope_of(key) == Scope::each_gpu;
    const std::optional<double> gpus = unit && unit->gpus ? unit->gpus
                                       : each             ? std::optional(1.0)
                                                          : choice_.asked.gpus;
    const bool whose_known = unit || scope_of(key) != Scope::unknown || (gpus && *gpus == 1);
    const double batch = choice_.asked.samples_per_gpu.value_or(0);
    const std::string whose =
        fmt::format("{} if they are per GPU, {} if they are the total of 8 GPUs",
                    checks_.typed(key, "samples/s/gpu"), checks_.typed(key, "samples/s/8gpus"));
    if (!choice_.asked.samples_per_gpu)
      checks_.fail("", states,
                   "Add --batch N, the samples per GPU in a step" +
                       (whose_known && gpus ? std::string() : ". Also write " + whose));
    if (!choice_.asked.gpus && !each) {
      result_.warnings.push_back(fmt::format(
          "{}: {} {}. The step is assumed to be --batch {:.6g} divided by it, which is right for "
          "one GPU and N times too short for N GPUs. Write {}",
          choice_.file, legible(key.name),
          scope_of(key) == Scope::all_gpus ? "counts the samples of an unknown number of GPUs"
                                           : "counts samples on an unknown number of GPUs",
          batch, whose));
      return batch;
    }
    if (!whose_known) checks_.fail("", states + ", and not the number of GPUs", "Write " + whose);
    return batch * gpus.value_or(1);
  }

  void add(double seconds, std::uint32_t line) {
    const std::optional<Duration> step = step_of_seconds(seconds);
    if (!step)
      checks_.fail(line, fmt::format("a step of {:.6g} s", seconds),
                   "Expected a time above zero and below a day. Is the unit right?");
    result_.steps.push_back(*step);
  }

  /// The first steps of a run compile, allocate and wait for data. First steps that took longer
  /// than every step of the second half are left out. With few steps they must take twice as long,
  /// because of chance.
  void leave_out_warm_up() {
    std::vector<Duration>& steps = result_.steps;
    std::vector<double> seconds;
    for (const Duration step : steps) seconds.push_back(step.seconds());
    require_one_kind(two_kinds_of_steps(seconds));
    const std::size_t half = steps.size() / 2;
    if (steps.size() < 3) return;
    const Duration longest =
        *std::max_element(steps.begin() + static_cast<std::ptrdiff_t>(half), steps.end());
    few_ = steps.size() < kFewestForWarmUp;
    const Duration usual = few_ ? longest.scaled(2) : longest;
    while (slow_ < half && steps[slow_] > usual) ++slow_;
    require_one_kind(two_kinds_of_steps(seconds, slow_));
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(slow_));
  }

  void require_one_kind(const std::optional<TwoKindsOfSteps>& kinds) const {
    if (!kinds) return;
    checks_.fail(
        "",
        fmt::format("has two kinds of steps: {} of about {:.4g} ms, {} {} of about {:.4g} ms{}",
                    kinds->first, 1e3 * kinds->first_s, kinds->in_turn ? "and" : "then",
                    kinds->other, 1e3 * kinds->other_s, kinds->in_turn ? ", in turn" : ""),
        "Give training steps of one setting in their own file");
  }

  void describe(const StepKey& key, bool last_alone) {
    std::string& said = result_.source;
    const std::size_t count = result_.steps.size();
    said = last_alone ? fmt::format("the last of {} values of ", key.readings.size())
                      : fmt::format("{} value{} of ", count, count == 1 ? "" : "s");
    if (choice_.form == StepForm::lines)
      said += in_quotes(key.name) + " in its lines";
    else
      said += fmt::format("{} {}", checks_.noun(), in_quotes(key.name));
    if (last_alone) said += ", a running mean";
    if (key.name.starts_with("it/s") && !last_alone && !is_of_run(key))
      said += " (a running mean if a progress bar wrote it)";
    if (is_of_run(key)) said += ", the mean of a whole run";
    if (resumed_ > 0)
      said +=
          fmt::format("; the run was resumed, and the first {:.0f} steps do not count", resumed_);
    else if (of_planned_)
      said +=
          "; too short if the run was resumed or stopped early, because it counts all planned "
          "steps";
    if (key.ranks > 1) said += fmt::format(", each step's slowest of {} ranks", key.ranks);
    if (key.meaning.count > 1) said += fmt::format(", each of {:.0f}", key.meaning.count);
    if (!key.convention.empty()) said += ", " + key.convention;
    const LinesWithoutNumber unread = choice_.form == StepForm::lines
                                          ? lines_without_number(choice_.text, key)
                                          : LinesWithoutNumber();
    if (unread.count > 0)
      said += fmt::format(
          "; line {} has {} there, which is not a number{}", unread.first, in_quotes(unread.shown),
          unread.count > 1 ? fmt::format(", and so have {} more", unread.count - 1) : "");
    else if (key.without_number > 0)
      said += fmt::format("; {} {}{} without one", key.without_number,
                          choice_.form == StepForm::table ? "row" : "line",
                          key.without_number == 1 ? " is" : "s are");
    if (found_.evaluations > 0)
      said += fmt::format("; {} line{} of an evaluation left out", found_.evaluations,
                          found_.evaluations == 1 ? "" : "s");
    if (found_.warm_ups > 0)
      said += fmt::format("; {} line{} of a warm-up left out", found_.warm_ups,
                          found_.warm_ups == 1 ? "" : "s");
    if (zeros_ > 0)
      said += fmt::format("; the first {} left out: {} 0",
                          zeros_ == 1 ? "is" : fmt::format("{} are", zeros_),
                          zeros_ == 1 ? "it is" : "they are");
    if (found_.cut_off) said += "; its last line has no end and was left out";
    const std::vector<const StepKey*> others = not_taken(key);
    if (!others.empty()) said += fmt::format("; not taken: {}", checks_.names_of(others));
    if (slow_ > 0)
      said += fmt::format("; the first {} left out as warm-up: {} every one of the second half",
                          slow_ == 1 ? "is" : fmt::format("{} are", slow_),
                          few_ ? "over twice as long as" : "longer than");
  }

  std::vector<const StepKey*> not_taken(const StepKey& taken) const {
    std::vector<const StepKey*> others;
    for (const StepKey& key : found_.keys)
      if (&key != &taken && is_time(key) && (!key.readings.empty() || !key.problem.empty()))
        others.push_back(&key);
    return others;
  }

  const StepChoice& choice_;
  const StepReadings& found_;
  KeyChecks checks_;
  MeasuredSteps result_;
  std::size_t slow_ = 0;
  std::size_t zeros_ = 0;
  double resumed_ = 0;       ///< where a run of transformers.Trainer continued
  bool of_planned_ = false;  ///< its own mean was used
  bool few_ = false;
};

}  // namespace

MeasuredSteps choose_steps(const StepChoice& choice) {
  return StepsOfKey(choice).run();
}

}  // namespace ddpsim
