#include "step_readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Suffix = StepValue::Suffix;

constexpr double kNoUnit = std::numeric_limits<double>::quiet_NaN();

bool differs(double one, double other) {
  return one < 0.999 * other || one > 1.001 * other;
}

/// Seconds of a number under this name; NaN where nothing states its unit.
double named_seconds(const StepTimeName& name, double number) {
  if (!name.unit_s) return kNoUnit;
  return name.rate ? *name.unit_s / number : number * *name.unit_s;
}

double stated_seconds(const StepTimeUnit& unit, double number) {
  switch (unit.kind) {
    case StepTimeUnit::Kind::time:
      return number * unit.unit_s;
    case StepTimeUnit::Kind::rate:
      return unit.unit_s / number;
    case StepTimeUnit::Kind::items_of_step:
      return unit.count / number;
    default:
      return number / unit.unit_s;  // items a second
  }
}

}  // namespace

StepReadings::StepReadings(const StepTimesAsked& asked)
    : asked_(asked), asked_key_(in_small_letters(asked.key)) {}

bool StepReadings::is_asked(std::string_view name) const {
  return !asked_key_.empty() && in_small_letters(name) == asked_key_;
}

StepKey* StepReadings::key(std::string_view name, const StepTimeName& meaning, bool asked) {
  const auto found = std::ranges::find(keys, name, &StepKey::name);
  if (found != keys.end()) return &*found;
  too_many = too_many || keys.size() == kMostStepKeys;
  if (too_many) return nullptr;
  StepKey& key = keys.emplace_back();
  key.name = name;
  key.meaning = meaning;
  key.asked = asked;
  return &key;
}

void StepReadings::add(StepKey& key, const StepValue& value, std::uint32_t line,
                       std::string_view shown) {
  if (!value.problem.empty()) {
    if (key.problem.empty()) {
      key.problem = value.problem;
      key.problem_line = line;
    }
    return;
  }
  too_many = too_many || steps_ == kMostSteps;
  if (too_many) return;
  const std::optional<StepTimeUnit> asked = key.asked ? asked_.unit : std::nullopt;
  double seconds = kNoUnit;
  if (value.suffix == Suffix::time || value.suffix == Suffix::time_per_step) {
    seconds = value.number * value.unit_s;
    const bool named =
        asked ? asked->kind == StepTimeUnit::Kind::time && !differs(asked->unit_s, value.unit_s)
              : !key.meaning.unit_s ||
                    (!key.meaning.rate && !differs(*key.meaning.unit_s, value.unit_s));
    if (!named && key.own_units++ == 0) key.first_own_s = value.unit_s;
  } else if (value.suffix == Suffix::steps_per_time) {
    seconds = value.unit_s / value.number;
  } else if (value.suffix == Suffix::items_per_time) {
    seconds =
        asked ? stated_seconds(*asked, value.number / value.unit_s) : value.number / value.unit_s;
  } else if (asked) {
    seconds = stated_seconds(*asked, value.number);
  } else if (key.meaning.of == Of::items) {
    seconds = value.number / *key.meaning.unit_s;
  } else {
    seconds = named_seconds(key.meaning, value.number);
    // "step: 10" counts steps.
    if (key.meaning.of == Of::step_word) return;
  }
  if (seconds != seconds && key.without_unit_text.empty()) {
    key.without_unit = line;
    key.without_unit_text = shown;
  }
  if (value.may_be_decimal && key.thousands.empty()) {
    key.thousands = shown;
    key.thousands_line = line;
  }
  ++steps_;
  key.deviations += value.has_deviation ? 1 : 0;
  key.readings.push_back({seconds, line});
}

void StepReadings::note_bar(StepKey& key, double done) {
  if (!key.of_bar || last_bar_ != key.name) ++key.parts;
  last_bar_ = key.name;
  key.of_bar = true;
  key.begins_anew = key.begins_anew || done < key.bar_at;
  key.bar_at = done;
}

void StepReadings::note_near(std::string_view name) {
  constexpr std::size_t kMostNear = 8;
  if (near.size() < kMostNear && std::ranges::find(near, name) == near.end())
    near.emplace_back(name);
}

void StepReadings::note_setting(std::string_view name, std::string_view value) {
  const auto found =
      std::ranges::find(settings_, name, &std::pair<std::string, std::string>::first);
  if (found == settings_.end()) {
    settings_.emplace_back(name, value);
  } else if (found->second != value && mixed.empty()) {
    mixed = fmt::format("{}: {}, {}", name, legible(found->second), legible(value));
  }
}

bool is_run_setting(std::string_view name) {
  static constexpr std::array<std::string_view, 32> kSettings = {"mode",
                                                                 "model",
                                                                 "config",
                                                                 "configuration",
                                                                 "strategy",
                                                                 "backend",
                                                                 "method",
                                                                 "scheme",
                                                                 "setting",
                                                                 "variant",
                                                                 "experiment",
                                                                 "run",
                                                                 "run_name",
                                                                 "run_id",
                                                                 "name",
                                                                 "label",
                                                                 "gpu",
                                                                 "gpu_name",
                                                                 "num_gpus",
                                                                 "gpus",
                                                                 "ngpus",
                                                                 "n_gpus",
                                                                 "world_size",
                                                                 "nodes",
                                                                 "num_nodes",
                                                                 "batch_size",
                                                                 "precision",
                                                                 "dtype",
                                                                 "bucket_cap_mb",
                                                                 "batch_size_per_gpu",
                                                                 "per_gpu_batch_size",
                                                                 "global_batch_size"};
  return std::find(kSettings.begin(), kSettings.end(), in_small_letters(name)) != kSettings.end();
}

}  // namespace ddpsim
