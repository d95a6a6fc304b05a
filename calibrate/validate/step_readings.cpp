#include "step_readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Suffix = StepValue::Suffix;

constexpr double kNoUnit = std::numeric_limits<double>::quiet_NaN();

bool differs(double one, double other) {
  return one < 0.999 * other || one > 1.001 * other;
}

/// Seconds of a number with this name; NaN if nothing states its unit.
double named_seconds(const StepTimeName& name, double number) {
  if (!name.unit_s) return kNoUnit;
  return name.rate ? *name.unit_s / number : number * *name.unit_s / name.count;
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
      return number / unit.unit_s;  // items per second
  }
}

/// Half of the last digit, relative to the number.
double rounding_of(std::string_view shown, double number) {
  const std::size_t begin = shown.find_first_of("0123456789");
  if (begin == std::string_view::npos || number == 0) return 0;
  const std::size_t end = std::min(shown.find_first_not_of("0123456789.,'_", begin), shown.size());
  if (end < shown.size() && std::string_view("eEkKMG").find(shown[end]) != std::string_view::npos)
    return 0;
  const std::string_view digits = shown.substr(begin, end - begin);
  const std::size_t point = digits.find_last_of(".,");
  const std::size_t decimals = point == std::string_view::npos ? 0 : digits.size() - point - 1;
  double last = 1;
  for (std::size_t k = 0; k < decimals; ++k) last /= 10;
  return 0.5 * last / std::abs(number);
}

/// Keeps one reading per step, that of the slowest rank. If a rank writes a step again, it counts
/// as another step.
void join_ranks(StepKey& key) {
  std::set<int> ranks;
  bool counted = true;
  for (const ReadingRecord& record : key.records) {
    if (record.rank >= 0) ranks.insert(record.rank);
    counted = counted && record.rank >= 0 && record.step >= 0;
  }
  if (ranks.size() < 2) return;
  key.ranks = ranks.size();
  if (!counted) {
    key.problem = "its lines come from several ranks, and the step of each is unknown";
    key.problem_line = key.readings.front().line;
    key.readings.clear();
    return;
  }
  const bool slow_is_low = key.meaning.of == Of::items;
  std::map<std::pair<int, double>, std::size_t> written;
  std::map<std::pair<double, std::size_t>, std::size_t> place;
  std::vector<StepReading> steps;
  for (std::size_t i = 0; i < key.readings.size(); ++i) {
    const StepReading& one = key.readings[i];
    const ReadingRecord& record = key.records[i];
    const std::size_t time = written[{record.rank, record.step}]++;
    const auto [at, is_new] = place.try_emplace({record.step, time}, steps.size());
    if (is_new) {
      steps.push_back(one);
      continue;
    }
    StepReading& slowest = steps[at->second];
    if (slow_is_low ? one.value < slowest.value : one.value > slowest.value) slowest = one;
  }
  key.readings = std::move(steps);
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

/// Seconds, or items per second if the key counts them; NaN without a unit. Absent if the number
/// counts steps. Notes a unit that differs from the stated one.
std::optional<double> StepReadings::take_seconds(StepKey& key, const StepValue& value) const {
  const std::optional<StepTimeUnit> asked = key.asked ? asked_.unit : std::nullopt;
  if (value.suffix == Suffix::time || value.suffix == Suffix::time_per_step) {
    const bool named =
        asked ? asked->kind == StepTimeUnit::Kind::time && !differs(asked->unit_s, value.unit_s)
              : !key.meaning.unit_s ||
                    (!key.meaning.rate && !differs(*key.meaning.unit_s, value.unit_s));
    if (!named && key.own_units++ == 0) key.first_own_s = value.unit_s;
    return value.number * value.unit_s / key.meaning.count;
  }
  if (value.suffix == Suffix::steps_per_time) return value.unit_s / value.number;
  if (value.suffix == Suffix::items_per_time)
    return asked ? stated_seconds(*asked, value.number / value.unit_s)
                 : value.number / value.unit_s / key.meaning.count;
  if (asked) return stated_seconds(*asked, value.number);
  if (key.meaning.of == Of::items) return value.number / *key.meaning.unit_s / key.meaning.count;
  if (key.meaning.of == Of::step_word) return std::nullopt;  // "step: 10"
  return named_seconds(key.meaning, value.number);
}

void StepReadings::add(StepKey& key, const StepValue& value, std::uint32_t line,
                       std::string_view shown) {
  const bool doubted = key.meaning.doubt && !key.asked;
  if (!value.problem.empty() || doubted) {
    if (!key.problem.empty()) return;
    key.problem = !value.problem.empty() ? value.problem
                                         : "it may be for one step, or for all of them together";
    key.problem_line = line;
    return;
  }
  too_many = too_many || steps_ == kMostSteps;
  if (too_many) return;
  const std::optional<double> read = take_seconds(key, value);
  if (!read) return;
  const double seconds = *read;
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
  key.rounding = std::min(key.rounding, rounding_of(shown, value.number));
  if (key.readings.empty()) key.first_number = key.last_number = value.number;
  key.rising = key.rising && value.number >= key.last_number;
  key.last_number = value.number;
  if (record.rank >= 0 || record.bare || !key.records.empty()) {
    key.records.resize(key.readings.size());
    key.records.push_back(record);
  }
  key.readings.push_back({seconds, line});
}

void StepReadings::settle() {
  for (StepKey& key : keys) {
    const auto bare = std::ranges::count(key.records, true, &ReadingRecord::bare);
    if (bare > 0 && static_cast<std::size_t>(bare) < key.readings.size()) {
      std::size_t i = 0;
      std::erase_if(key.readings, [&](const StepReading&) { return key.records[i++].bare; });
      std::erase_if(key.records, [](const ReadingRecord& one) { return one.bare; });
      evaluations += static_cast<std::size_t>(bare);
    }
    join_ranks(key);
  }
}

void StepReadings::note_bar(StepKey& key, double done) {
  if (!key.of_bar || last_bar_ != key.name) ++key.parts;
  last_bar_ = key.name;
  key.of_bar = true;
  key.begins_anew = key.begins_anew || done < key.bar_at;
  key.bar_at = done;
}

void StepReadings::note_near(std::string_view name, bool own_unit) {
  constexpr std::size_t kMostNear = 8;
  if (own_unit && near_with_unit.size() < kMostNear &&
      std::ranges::find(near_with_unit, name) == near_with_unit.end())
    near_with_unit.emplace_back(name);
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

std::string take_updates(StepValue& value, std::string_view shown, double words_per_second,
                         double words_per_batch) {
  constexpr double kRough = 0.02;
  const double rounding = rounding_of(shown, value.number);
  const double updates = words_per_second / words_per_batch;
  const bool same = std::abs(updates - value.number) <= 1.2 * rounding * value.number;
  if (!value.problem.empty() || !same || rounding < kRough)
    return "updates per second, as fairseq writes it";
  value.number = updates;
  return "updates per second as fairseq writes it, from wps and wpb because ups is rounded";
}

RecordOf record_of(std::string_view name, std::string_view value) {
  static constexpr std::array<std::string_view, 8> kParts = {"mode", "split", "phase",  "stage",
                                                             "type", "event", "subset", "tag"};
  std::vector<std::string> words = words_in_name(name);
  const bool is = words.size() > 1 && (words.front() == "is" || words.front() == "in");
  if (is) words.erase(words.begin());
  const std::string said = in_small_letters(value.substr(0, 64));
  const bool yes = said == "true" || (is && (said == "1" || said == "yes"));
  const bool no = said == "false" || (is && (said == "0" || said == "no"));
  if (words.size() == 2 && words[0] == "warm" && words[1] == "up") words = {"warmup"};
  if (words.size() != 1) return RecordOf::unknown;
  const std::string& word = words.front();
  if (yes && word == "warmup") return RecordOf::warm_up;
  if ((no && (word == "train" || word == "training")) || (yes && is_evaluation_word(word)))
    return RecordOf::evaluation;
  if (is || std::ranges::find(kParts, word) == kParts.end()) return RecordOf::unknown;
  const std::vector<std::string> says = words_in_name(value.substr(0, 64));
  if (!says.empty() &&
      (says.front() == "warmup" || (says.size() > 1 && says.front() == "warm" && says[1] == "up")))
    return RecordOf::warm_up;
  return !says.empty() && is_evaluation_word(says.front()) ? RecordOf::evaluation
                                                           : RecordOf::unknown;
}

StepTimeName step_time_name_among(std::string_view name, const std::vector<std::string>& all) {
  constexpr std::string_view kRate = "batches_per_sec";
  constexpr std::string_view kDevice = "device/";
  if (!name.ends_with(kRate)) return step_time_name(name);
  std::string_view before = name.substr(0, name.size() - kRate.size());
  const bool of_device = before.ends_with(kDevice);
  if (of_device) before.remove_suffix(kDevice.size());
  const auto has = [&](std::string_view behind) {
    return std::ranges::find(all, std::string(before) + std::string(behind)) != all.end();
  };
  const bool summed = has("device/batches_per_sec") && has(kRate) && has("batches") && has("time");
  if (!summed) return step_time_name(name);
  return of_device ? step_time_name(kRate) : StepTimeName{.near = true};
}

bool counts_steps_by_name(std::string_view name) {
  const std::vector<std::string> words = words_in_name(name);
  return !words.empty() && std::ranges::all_of(words, [](const std::string& word) {
    return is_step_word(word) || word == "global";
  });
}

bool is_rank_name(std::string_view name) {
  const std::vector<std::string> words = words_in_name(name);
  return !words.empty() && words.size() <= 2 &&
         (words.back() == "rank" || words.back() == "ranks") &&
         (words.size() == 1 || words[0] == "global" || words[0] == "world" || words[0] == "gpu" ||
          words[0] == "local" || words[0] == "process" || words[0] == "dp");
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
