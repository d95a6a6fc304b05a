#include "step_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "lines_of_key.hpp"
#include "step_series.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Scope = StepTimeName::Scope;

/// Of fewer steps nobody can tell a slow beginning from chance.
constexpr std::size_t kFewestForWarmUp = 10;
/// Keys whose medians lie within this factor are of the same steps.
constexpr double kAgree = 1.25;

double median_of_readings(const StepKey& key) {
  std::vector<double> values;
  for (const StepReading& one : key.readings)
    if (std::isfinite(one.value)) values.push_back(one.value);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// "1,234" of milliseconds is a step; of seconds it is more likely 1.234.
constexpr double kThousands_s = 600;

std::string without_comma(std::string text) {
  std::erase(text, ',');
  return text;
}

std::string_view unit_word(double seconds) {
  return seconds < 1e-7 ? "ns" : seconds < 1e-4 ? "us" : seconds < 0.1 ? "ms" : "s";
}

bool has_unit(const StepKey& key) {
  return !key.readings.empty() && key.without_unit_text.empty();
}

bool is_time(const StepKey& key) {
  return key.meaning.of != Of::items && key.meaning.of != Of::other;
}

/// The unit to propose for a key that states none.
const char* likely_unit(std::string_view name) {
  if (name.ends_with("it/s")) return "";
  return name.ends_with("per_second") || name.ends_with("per_sec") ? "it/s" : "ms";
}

/// transformers.Trainer's own mean has its state with more digits, and holds all evaluation.
bool is_of_run(const StepKey& key) {
  return key.of_run || key.name.ends_with("train_steps_per_second");
}

/// The lower, the more certainly single steps.
int level_of(const StepKey& key) {
  if (is_of_run(key)) return 3;
  if (key.of_bar || key.meaning.of == Of::bare_time) return 2;
  return key.meaning.mean || key.meaning.of == Of::step_word ? 1 : 0;
}

bool grows_by_itself(const StepKey& key) {
  std::vector<double> values;
  for (const StepReading& one : key.readings) values.push_back(one.value);
  return grows_as_elapsed(values);
}

/// A time alone that grows from line to line is the time since the beginning.
bool grows(const StepKey& key) {
  return key.meaning.of == Of::bare_time && grows_by_itself(key);
}

/// Seconds since 1970, or thousandths and less of them: points in time between 2008 and 2096.
bool is_clock(const StepKey& key) {
  if (key.readings.empty()) return false;
  const auto recent = [](double seconds) { return seconds > 1.2e9 && seconds < 4e9; };
  const StepReading& one = key.readings.front();
  if (one.value == one.value) return is_time(key) && recent(one.value);
  const double first = key.first_number;
  return key.rising &&
         (recent(first) || recent(first / 1e3) || recent(first / 1e6) || recent(first / 1e9));
}

/// Of values that are means: whether over all steps so far, which change less and less from one to the next.
bool is_running_mean(const StepKey& key) {
  const std::vector<StepReading>& all = key.readings;
  if (all.size() < 2) return false;
  if (key.meaning.running || key.deviations == all.size() ||
      (key.meaning.mean && key.meaning.of == Of::step_word))
    return true;
  if (!key.meaning.mean || all.size() < 3) return false;
  const std::size_t half = all.size() / 2;
  double before = 0;
  double behind = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    double& most = i < half ? before : behind;
    most = std::max(most, std::abs(all[i].value - all[i - 1].value));
  }
  constexpr double kSettled = 0.005;
  constexpr double kShrunk = 0.1;
  return behind <= kSettled * all.back().value || behind <= kShrunk * before;
}

class Chooser {
 public:
  explicit Chooser(const StepChoice& choice) : choice_(choice), found_(choice.found) {}

  MeasuredSteps run() {
    if (found_.too_many)
      fail("",
           fmt::format("holds more than {} step times, or more than {} names of them", kMostSteps,
                       kMostStepKeys),
           "Give the steps of one run; its last ones are enough");
    const StepKey& key = choice_.asked.key.empty() ? found_key() : asked_key();
    if (!found_.mixed.empty() && key.readings.size() > 1)
      fail("", fmt::format("its steps are of several settings ({})", found_.mixed),
           "Give the steps of one setting in a file of their own");
    require_understood(key);
    require_steps(key);
    const bool items = choice_.asked.unit && key.asked
                           ? choice_.asked.unit->kind == StepTimeUnit::Kind::items
                           : key.meaning.of == Of::items && !is_converted(key);
    const double per_item = items ? samples_of(key) : 0;
    const bool last_alone = is_running_mean(key);
    const double planned = planned_of_taken(key);
    // Before the first step ends, its time is printed as 0.
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
    if (items) result_.source += fmt::format("; a step has {:.6g} of what they count", per_item);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& place, std::string message, std::string hint) const {
    throw InputError({choice_.file, place, std::move(message), std::move(hint)});
  }
  [[noreturn]] void fail(std::uint32_t line, std::string message, std::string hint) const {
    fail(line == 0 ? std::string() : fmt::format("line {}", line), std::move(message),
         std::move(hint));
  }

  bool is_converted(const StepKey& key) const {
    return key.asked && choice_.asked.unit && choice_.asked.unit->kind != StepTimeUnit::Kind::items;
  }

  /// As it is typed: FILE:KEY, in quotes where a shell needs them.
  std::string typed(const StepKey& key, std::string_view unit = "") const {
    return typed(key.name, unit);
  }
  std::string typed(std::string_view name, std::string_view unit) const {
    std::string text =
        fmt::format("{}:{}{}{}", choice_.file, legible(name, 200), unit.empty() ? "" : "=", unit);
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
    });
    return plain ? text : '\'' + text + '\'';
  }

  /// The first name that looks like a step's time, with a unit where neither it nor its numbers state one.
  std::string typed_near() const {
    const std::string& name = found_.near.front();
    if (std::ranges::find(found_.near_with_unit, name) != found_.near_with_unit.end())
      return typed(name, "");
    const std::string_view unit = likely_unit(name);
    if (unit == "it/s" || unit.empty()) return typed(name, unit);
    if (step_time_name(name).unit_s) return typed(name, "");
    return typed(name, unit) + ", where ms is an example of its unit";
  }

  const char* noun() const { return choice_.form == StepForm::table ? "column" : "key"; }

  std::string names_of(const std::vector<const StepKey*>& keys) const {
    std::vector<std::string> names;
    for (const StepKey* key : keys) names.push_back(key->name);
    return legible(fmt::format("{}", fmt::join(names, ", ")), 200);
  }

  [[noreturn]] void ask(const std::vector<const StepKey*>& keys) const {
    fail("", fmt::format("{} {}s are of step times: {}", keys.size(), noun(), names_of(keys)),
         fmt::format("Say which: {}", typed(*keys.front())));
  }

  void require_understood(const StepKey& key) {
    if (!key.problem.empty())
      fail(key.problem_line, fmt::format("{}: {}", in_quotes(key.name), key.problem),
           key.meaning.doubt ? fmt::format("If it is of one step, say so: {}", typed(key))
           : key.ranks > 1
               ? std::string("Give those of one rank, or write the step's number beside each")
               : std::string("Expected a number with its unit, such as \"step_time=0.123 s\""));
    if (key.readings.empty()) {
      if (key.of_evaluation > 0)
        fail("", fmt::format("{} stands on lines of an evaluation alone", in_quotes(key.name)),
             "Give the steps of training");
      if (found_.cut_off) fail_cut_off();
      fail("", fmt::format("{} {} is empty", noun(), in_quotes(key.name)), "Give another");
    }
    if (key.own_units > 0) {
      if (choice_.asked.unit && key.asked)
        fail(key.readings.front().line,
             fmt::format("the numbers of {} state another unit than was asked for",
                         in_quotes(key.name)),
             key.meaning.unit_s ? std::string("Give a file whose numbers have one unit")
                                : fmt::format("Leave the unit out: {}", typed(key)));
      fail(key.readings.front().line,
           fmt::format("{} states one unit in its name and another behind its numbers",
                       in_quotes(key.name)),
           fmt::format("If the one behind them is right: {}",
                       typed(key, unit_word(key.first_own_s))));
    }
    require_unit(key);
    if (key.thousands.empty()) return;
    const bool large = std::ranges::any_of(
        key.readings, [](const StepReading& one) { return !(one.value < kThousands_s); });
    if (large)
      fail(key.thousands_line,
           fmt::format("{}: {} may be thousands or decimals", in_quotes(key.name),
                       in_quotes(key.thousands)),
           "Write its numbers without a comma");
    result_.warnings.push_back(
        fmt::format("{}: {} is read as {}: no number in it has a decimal comma", choice_.file,
                    key.thousands, without_comma(key.thousands)));
  }

  /// What is a time, and none of a step.
  void require_steps(const StepKey& key) const {
    require_no_clock(key);
    if (choice_.form != StepForm::lines) return;
    const double several = readings_of_a_step(choice_.text, key);
    if (several < 1.5) return;
    double sum = 0;
    for (const StepReading& one : key.readings) sum += one.value;
    fail("",
         fmt::format("{} is of a micro-batch: as its lines count both, a step has {:.3g} of them",
                     in_quotes(key.name), several),
         fmt::format("Give the time of a step, such as {:.4g}ms, which is {:.3g} times their mean",
                     1e3 * several * sum / static_cast<double>(key.readings.size()), several));
  }

  void require_no_clock(const StepKey& key) const {
    if (!is_clock(key)) return;
    fail(key.readings.front().line,
         fmt::format("{} is a clock: it holds points in time, counted from 1970, and no durations",
                     in_quotes(key.name)),
         "Give the times of steps");
  }

  /// Of transformers.Trainer's own mean: it divides all steps that were planned by the time of those that this run took.
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
      fail("",
           fmt::format("the run was resumed at step {:.0f}, and {} counts the steps before it, too",
                       begun, in_quotes(key.name)),
           "Give times of single steps, or the mean itself, such as 104ms");
    resumed_ = begun;
    return planned / (planned - begun);
  }

  void warn(const StepKey& key) {
    if (key.asked && is_time(key) && grows_by_itself(key))
      result_.warnings.push_back(fmt::format(
          "{}: {} grows from line to line, as the time since the beginning does, and is taken as "
          "a step's time because you say so",
          choice_.file, in_quotes(key.name)));
    constexpr double kRough = 0.05;
    if (key.rounding > kRough && key.rounding < 1 && !key.readings.empty())
      result_.warnings.push_back(
          fmt::format("{}: the numbers of {} are printed so roughly that a step may be {:.0f} % "
                      "off",
                      choice_.file, in_quotes(key.name), 100 * key.rounding));
  }

  void require_unit(const StepKey& key) const {
    if (key.without_unit_text.empty()) return;
    require_no_clock(key);
    const std::string shown =
        choice_.form == StepForm::table
            ? fmt::format("{} in column {}", in_quotes(key.without_unit_text), in_quotes(key.name))
            : in_quotes(key.name);
    fail(key.without_unit, shown + " has no unit",
         fmt::format("A number alone may be anything: say its unit, as in {}", typed(key, "s")));
  }

  [[noreturn]] void fail_cut_off() const {
    fail("", "ends in the middle of a line, and its only step time stands there",
         "End the last line with a newline if it is whole");
  }

  const StepKey& asked_key() const {
    std::vector<const StepKey*> keys;
    std::vector<std::string> known = choice_.columns;
    for (const StepKey& key : found_.keys) {
      if (key.asked && (!key.readings.empty() || !key.problem.empty() || keys.empty()))
        keys.push_back(&key);
      if (choice_.form != StepForm::table) known.push_back(key.name);
    }
    if (choice_.form != StepForm::table)
      known.insert(known.end(), found_.near.begin(), found_.near.end());
    if (keys.empty())
      fail("", fmt::format("there is no {} {}", noun(), in_quotes(choice_.asked.key)),
           did_you_mean_or_known(
               choice_.asked.key, known,
               choice_.form == StepForm::table ? "Its columns" : "Its keys of times and rates"));
    if (keys.size() > 1)
      std::erase_if(
          keys, [](const StepKey* key) { return key->readings.empty() && key->problem.empty(); });
    const auto exact =
        std::ranges::find(keys, choice_.asked.key, [](const StepKey* key) { return key->name; });
    if (exact != keys.end()) return **exact;
    if (keys.size() > 1) ask(keys);
    return *keys.front();
  }

  const StepKey& found_key() {
    std::vector<const StepKey*> usable;
    for (const StepKey& key : found_.keys)
      if (is_time(key) && has_unit(key) && !grows(key)) usable.push_back(&key);
    if (usable.empty()) return other_key();
    leave_out_inner_bars(usable);
    std::ranges::stable_sort(usable, {}, [](const StepKey* key) { return level_of(*key); });
    const int best = level_of(*usable.front());
    // A plainer key whose numbers are not understood is not passed over.
    for (const StepKey& key : found_.keys)
      if (is_time(key) && key.readings.empty() && !key.problem.empty() &&
          level_of(key) <= std::min(best, 1))
        return key;
    const double median = median_of_readings(*usable.front());
    std::vector<const StepKey*> rivals;
    bool agree = true;
    for (const StepKey* key : usable) {
      if (level_of(*key) > std::max(best, 1) || (best < 3 && is_of_run(*key))) continue;
      rivals.push_back(key);
      const double other = median_of_readings(*key);
      agree = agree && other <= kAgree * median && median <= kAgree * other;
    }
    if (!agree && rivals.size() > 1) ask(rivals);
    return *usable.front();
  }

  /// Of bars without a heading the one that goes on after another began and ended is the training's; the others, an
  /// evaluation's, begin anew.
  static void leave_out_inner_bars(std::vector<const StepKey*>& usable) {
    const auto is_outer = [](const StepKey* key) {
      return key->of_bar && key->parts > 1 && !key->begins_anew;
    };
    if (std::ranges::count_if(usable, is_outer) != 1) return;
    std::erase_if(usable, [&](const StepKey* key) {
      return key->of_bar && !is_outer(key) && key->name.find(" of ") != std::string::npos;
    });
  }

  /// Where no key is a step's time with its unit: why, or what a step's samples make of a rate.
  const StepKey& other_key() {
    for (const StepKey& key : found_.keys)
      if (is_time(key)) require_no_clock(key);
    for (const StepKey& key : found_.keys)
      if (is_time(key) && grows(key) && has_unit(key))
        fail(key.readings.front().line,
             fmt::format("{} grows from line to line: it is no step's time, but the time since the "
                         "beginning",
                         in_quotes(key.name)),
             fmt::format("If it is a step's time all the same: {}", typed(key)));
    const StepKey* rate = rate_key();
    for (const StepKey& key : found_.keys)
      if (is_time(key) && !key.problem.empty() && key.readings.empty()) return key;
    if (rate != nullptr && choice_.asked.samples_per_gpu) return *rate;
    for (const StepKey& key : found_.keys)
      if (is_time(key) && !key.readings.empty()) require_unit(key);
    if (rate != nullptr) return *rate;
    if (found_.cut_off) fail_cut_off();
    for (const StepKey& key : found_.keys)
      if (is_time(key) &&
          (key.without_number > 0 || key.of_evaluation > 0 || choice_.form == StepForm::table))
        require_understood(key);
    if (choice_.form == StepForm::table)
      fail("",
           fmt::format("no column is named as step times are; there are {}",
                       legible(fmt::format("{}", fmt::join(choice_.columns, ", ")), 200)),
           found_.near.empty() ? std::string("Say which, with its unit, as FILE:COLUMN=UNIT")
                               : "Say which: " + typed_near());
    if (!found_.near.empty())
      fail("", kNoStepTime,
           fmt::format("{} may be of something else; if it is the step's time, say so: {}",
                       in_quotes(found_.near.front()), typed_near()));
    fail("", kNoStepTime,
         "Expected a column or key of step times with its unit, such as step_time_ms, or lines "
         "such as \"step_time=0.123 s\", \"123.4 ms/step\", \"5.67it/s\"; or a "
         "trainer_state.json");
  }

  /// Samples before tokens, single readings before means, those of each GPU before others.
  const StepKey* rate_key() const {
    std::vector<const StepKey*> rates;
    for (const StepKey& key : found_.keys)
      if (key.meaning.of == Of::items && !key.readings.empty()) rates.push_back(&key);
    const auto rank = [](const StepKey* key) {
      return std::tuple(key->meaning.tokens, key->meaning.scope != Scope::each_gpu,
                        key->meaning.mean);
    };
    const auto best = std::ranges::min_element(rates, {}, rank);
    return best == rates.end() ? nullptr : *best;
  }

  /// DeepSpeed's ThroughputTimer counts the samples of all GPUs, and so does transformers.Trainer.
  static Scope scope_of(const StepKey& key) {
    if (key.meaning.scope != Scope::unknown) return key.meaning.scope;
    const bool of_all =
        key.name.ends_with("SamplesPerSec") || key.name.ends_with("train_samples_per_second");
    return of_all ? Scope::all_gpus : Scope::unknown;
  }

  /// How many of what it counts a step has.
  double samples_of(const StepKey& key) {
    const std::optional<StepTimeUnit> unit = key.asked ? choice_.asked.unit : std::nullopt;
    const std::string states = fmt::format(
        "it states {} per second ({}: {} value{}, median {:.6g}), and no step time",
        key.meaning.tokens ? "tokens" : "samples", legible(key.name), key.readings.size(),
        key.readings.size() == 1 ? "" : "s", median_of_readings(key));
    if (key.meaning.tokens && !unit)
      fail("", states,
           fmt::format("Say how many tokens a step has on the GPUs that it counts, 16384 for "
                       "example: {}; --batch counts samples",
                       typed(key, "16384/step")));
    const bool each = unit ? unit->gpus.has_value() : scope_of(key) == Scope::each_gpu;
    const std::optional<double> gpus = unit && unit->gpus ? unit->gpus
                                       : each             ? std::optional(1.0)
                                                          : choice_.asked.gpus;
    const bool whose_known = unit || scope_of(key) != Scope::unknown || (gpus && *gpus == 1);
    const double batch = choice_.asked.samples_per_gpu.value_or(0);
    const std::string whose =
        fmt::format("{} if they are per GPU, {} if they are the total of 8 GPUs",
                    typed(key, "samples/s/gpu"), typed(key, "samples/s/8gpus"));
    if (!choice_.asked.samples_per_gpu)
      fail("", states,
           "Add --batch N, the samples per GPU and step" +
               (whose_known && gpus ? std::string() : "; and write " + whose));
    if (!choice_.asked.gpus && !each) {
      result_.warnings.push_back(fmt::format(
          "{}: {} {}. The step is taken as --batch {:.6g} over it, which is right for one GPU "
          "and N times too short on N GPUs. Write {}",
          choice_.file, legible(key.name),
          scope_of(key) == Scope::all_gpus ? "counts the samples of all GPUs, how many is not known"
                                           : "counts samples, on how many GPUs is not known",
          batch, whose));
      return batch;
    }
    if (!whose_known) fail("", states + ", and not on how many GPUs", "Write " + whose);
    return batch * gpus.value_or(1);
  }

  void add(double seconds, std::uint32_t line) {
    const std::optional<Duration> step = step_of_seconds(seconds);
    if (!step)
      fail(line, fmt::format("a step of {:.6g} s", seconds),
           "Expected a time above zero and below a day: is the unit right?");
    result_.steps.push_back(*step);
  }

  /// The first steps of a run compile, allocate and wait for data. Those at the front that took longer than
  /// every step of the second half are not steps like it; of few steps, twice as long: chance orders those.
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
    fail("",
         fmt::format("holds two kinds of steps: {} of about {:.4g} ms, {} {} of about {:.4g} ms{}",
                     kinds->first, 1e3 * kinds->first_s, kinds->in_turn ? "and" : "then",
                     kinds->other, 1e3 * kinds->other_s, kinds->in_turn ? ", in turn" : ""),
         "Give those of training under one setting in a file of their own");
  }

  void describe(const StepKey& key, bool last_alone) {
    std::string& said = result_.source;
    const std::size_t count = result_.steps.size();
    said = last_alone ? fmt::format("the last of {} values of ", key.readings.size())
                      : fmt::format("{} value{} of ", count, count == 1 ? "" : "s");
    if (choice_.form == StepForm::lines)
      said += in_quotes(key.name) + " in its lines";
    else
      said += fmt::format("{} {}", noun(), in_quotes(key.name));
    if (last_alone) said += ", a running mean";
    if (key.name.starts_with("it/s") && !last_alone && !is_of_run(key))
      said += " (a running mean, where a progress bar wrote it)";
    if (is_of_run(key)) said += ", the mean of a whole run";
    if (resumed_ > 0)
      said +=
          fmt::format("; the run was resumed, and the first {:.0f} steps do not count", resumed_);
    else if (of_planned_)
      said +=
          "; too short where the run was resumed or stopped early: it divides the steps that "
          "were planned by the time";
    if (key.ranks > 1) said += fmt::format(", each step's slowest of {} ranks", key.ranks);
    if (key.meaning.count > 1) said += fmt::format(", each of {:.0f}", key.meaning.count);
    if (!key.convention.empty()) said += ", " + key.convention;
    const LinesWithoutNumber unread = choice_.form == StepForm::lines
                                          ? lines_without_number(choice_.text, key)
                                          : LinesWithoutNumber();
    if (unread.count > 0)
      said += fmt::format(
          "; line {} has {} there, which is no number{}", unread.first, in_quotes(unread.shown),
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
    if (!others.empty()) said += fmt::format("; not taken: {}", names_of(others));
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
  MeasuredSteps result_;
  std::size_t slow_ = 0;
  std::size_t zeros_ = 0;
  double resumed_ = 0;       ///< the step at which a run of transformers.Trainer went on
  bool of_planned_ = false;  ///< its own mean was taken
  bool few_ = false;
};

}  // namespace

MeasuredSteps choose_steps(const StepChoice& choice) {
  return Chooser(choice).run();
}

}  // namespace ddpsim
