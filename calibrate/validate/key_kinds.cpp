#include "key_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "step_series.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Scope = StepTimeName::Scope;

}  // namespace

double median_of_readings(const StepKey& key) {
  std::vector<double> values;
  for (const StepReading& one : key.readings)
    if (std::isfinite(one.value)) values.push_back(one.value);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool has_unit(const StepKey& key) {
  return !key.readings.empty() && key.without_unit_text.empty();
}

bool is_time(const StepKey& key) {
  return key.meaning.of != Of::items && key.meaning.of != Of::other;
}

bool is_of_run(const StepKey& key) {
  return key.of_run || key.name.ends_with("train_steps_per_second");
}

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

bool grows(const StepKey& key) {
  return key.meaning.of == Of::bare_time && grows_by_itself(key);
}

bool is_clock(const StepKey& key) {
  if (key.readings.empty()) return false;
  const auto recent = [](double seconds) { return seconds > 1.2e9 && seconds < 4e9; };
  const StepReading& one = key.readings.front();
  if (one.value == one.value) return is_time(key) && recent(one.value);
  const double first = key.first_number;
  return key.rising &&
         (recent(first) || recent(first / 1e3) || recent(first / 1e6) || recent(first / 1e9));
}

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

Scope scope_of(const StepKey& key) {
  if (key.meaning.scope != Scope::unknown) return key.meaning.scope;
  const bool of_all =
      key.name.ends_with("SamplesPerSec") || key.name.ends_with("train_samples_per_second");
  return of_all ? Scope::all_gpus : Scope::unknown;
}

}  // namespace ddpsim
