#include "key_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "key_checks.hpp"
#include "key_kinds.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Scope = StepTimeName::Scope;

/// If the medians of several keys lie within this factor, the keys are taken to measure the same
/// steps, and you need not choose one.
constexpr double kAgree = 1.25;

/// The unit to propose for a key without one.
const char* likely_unit(std::string_view name) {
  if (name.ends_with("it/s")) return "";
  return name.ends_with("per_second") || name.ends_with("per_sec") ? "it/s" : "ms";
}

class KeyChooser {
 public:
  explicit KeyChooser(const StepChoice& choice)
      : choice_(choice), found_(choice.found), checks_(choice) {}

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
      checks_.fail(
          "", fmt::format("there is no {} {}", checks_.noun(), in_quotes(choice_.asked.key)),
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
    // A plainer key whose numbers are not understood must not be ignored.
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

 private:
  /// The first name that looks like a step's time, with a unit if neither the name nor its numbers
  /// state one.
  std::string typed_near() const {
    const std::string& name = found_.near.front();
    if (std::ranges::find(found_.near_with_unit, name) != found_.near_with_unit.end())
      return checks_.typed(name, "");
    const std::string_view unit = likely_unit(name);
    if (unit == "it/s" || unit.empty()) return checks_.typed(name, unit);
    if (step_time_name(name).unit_s) return checks_.typed(name, "");
    return checks_.typed(name, unit) + ", where ms is an example of its unit";
  }

  [[noreturn]] void ask(const std::vector<const StepKey*>& keys) const {
    checks_.fail("",
                 fmt::format("{} {}s hold step times: {}", keys.size(), checks_.noun(),
                             checks_.names_of(keys)),
                 fmt::format("State which: {}", checks_.typed(*keys.front())));
  }

  /// Among bars without a heading, the training's bar continues after another one began and ended.
  /// The others, an evaluation's, start again.
  static void leave_out_inner_bars(std::vector<const StepKey*>& usable) {
    const auto is_outer = [](const StepKey* key) {
      return key->of_bar && key->parts > 1 && !key->begins_anew;
    };
    if (std::ranges::count_if(usable, is_outer) != 1) return;
    std::erase_if(usable, [&](const StepKey* key) {
      return key->of_bar && !is_outer(key) && key->name.find(" of ") != std::string::npos;
    });
  }

  /// Called if no key is a step's time with its unit: reports why, or derives the step from a rate
  /// of samples.
  const StepKey& other_key() {
    for (const StepKey& key : found_.keys)
      if (is_time(key)) checks_.require_no_clock(key);
    for (const StepKey& key : found_.keys)
      if (is_time(key) && grows(key) && has_unit(key))
        checks_.fail(
            key.readings.front().line,
            fmt::format("{} grows from line to line, so it is not a step's time, but the time "
                        "since the beginning",
                        in_quotes(key.name)),
            fmt::format("If it is a step's time anyway: {}", checks_.typed(key)));
    const StepKey* rate = rate_key();
    for (const StepKey& key : found_.keys)
      if (is_time(key) && !key.problem.empty() && key.readings.empty()) return key;
    if (rate != nullptr && choice_.asked.samples_per_gpu) return *rate;
    for (const StepKey& key : found_.keys)
      if (is_time(key) && !key.readings.empty()) checks_.require_unit(key);
    if (rate != nullptr) return *rate;
    if (found_.cut_off) checks_.fail_cut_off();
    for (const StepKey& key : found_.keys)
      if (is_time(key) &&
          (key.without_number > 0 || key.of_evaluation > 0 || choice_.form == StepForm::table))
        checks_.require_understood(key);
    if (choice_.form == StepForm::table)
      checks_.fail("",
                   fmt::format("no column has the name of a step time; the columns are {}",
                               legible(fmt::format("{}", fmt::join(choice_.columns, ", ")), 200)),
                   found_.near.empty()
                       ? std::string("State which, with its unit, as FILE:COLUMN=UNIT")
                       : "State which: " + typed_near());
    if (!found_.near.empty())
      checks_.fail("", kNoStepTime,
                   fmt::format("{} may mean something else. If it is the step's time, state that: "
                               "{}",
                               in_quotes(found_.near.front()), typed_near()));
    checks_.fail(
        "", kNoStepTime,
        "Expected a column or key of step times with a unit, such as step_time_ms. Lines may also "
        "have the form \"step_time=0.123 s\", \"123.4 ms/step\", \"5.67it/s\"; a "
        "trainer_state.json works too");
  }

  /// Prefers samples to tokens, single readings to means, and values per GPU to others.
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

  const StepChoice& choice_;
  const StepReadings& found_;
  KeyChecks checks_;
};

}  // namespace

const StepKey& choose_key(const StepChoice& choice) {
  KeyChooser chooser(choice);
  return choice.asked.key.empty() ? chooser.found_key() : chooser.asked_key();
}

}  // namespace ddpsim
