// What a text says about its steps, by key, before it is decided which key is the step's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "step_time_name.hpp"
#include "step_value.hpp"

namespace ddpsim {

/// Most step times of one run that are read; a longer log or table is refused.
inline constexpr std::size_t kMostSteps = 1'000'000;
inline constexpr std::size_t kMostStepKeys = 64;

/// What a line, a row or an object says apart from its numbers.
struct ReadingRecord {
  int rank = -1;     ///< the process that wrote it; negative: unknown
  double step = -1;  ///< as the process counts it; negative: unknown
  /// Whether the line has a time and a time of loading data, but nothing else from a training.
  bool bare = false;
};

struct StepReading {
  /// Seconds, or items per second; NaN if there is no unit.
  double value = 0;
  std::uint32_t line = 0;  ///< from 1; 0: a document has none
};

/// One key or column and its numbers, in the order of the file.
struct StepKey {
  std::string name;
  StepTimeName meaning;
  bool asked = false;  ///< by the user
  std::vector<StepReading> readings;
  /// One for each reading. Empty if none names a rank or is bare.
  std::vector<ReadingRecord> records;
  double first_number = 0;  ///< as written; likewise the last one
  double last_number = 0;
  bool rising = true;  ///< no number is below the previous one
  /// A single mean of a whole run: "Total time: 0:10:22 (0.1234 s / it)".
  bool of_run = false;
  bool of_bar = false;       ///< a progress bar's running mean
  double bar_at = 0;         ///< position of the bar
  bool begins_anew = false;  ///< the bar went back
  std::size_t parts = 0;     ///< into which other bars divide it
  /// Readings followed by "± 0.3": means of all steps so far.
  std::size_t deviations = 0;
  std::size_t own_units = 0;  ///< readings that state another unit than the name
  double first_own_s = 0;     ///< the unit in the first of these
  /// Relative rounding error of the most exact number.
  double rounding = 1;
  /// Number of ranks whose slowest is each step's reading. 0: a single rank.
  std::size_t ranks = 0;
  std::size_t without_number = 0;  ///< "n/a", empty cells
  std::size_t of_evaluation = 0;   ///< left out
  /// The first line whose number has no unit; 0: none.
  std::uint32_t without_unit = 0;
  std::string without_unit_text;
  /// The program whose unit was assumed because none is stated.
  std::string convention;
  /// "1,234" if nothing else shows that the comma marks thousands.
  std::string thousands;
  std::uint32_t thousands_line = 0;
  std::uint32_t problem_line = 0;
  std::string problem;  ///< the first number that is not understood
};

class StepReadings {
 public:
  explicit StepReadings(const StepTimesAsked& asked);

  /// Whether this is the key that the user named.
  bool is_asked(std::string_view name) const;
  /// The key of this name. Null if there are too many keys.
  StepKey* key(std::string_view name, const StepTimeName& meaning, bool asked);
  void add(StepKey& key, const StepValue& value, std::uint32_t line, std::string_view shown);
  /// Notes a name that looks like a step's time but is not, for messages. `own_unit`: its numbers
  /// state a unit.
  void note_near(std::string_view name, bool own_unit);
  /// Notes a progress bar's reading, at `done` of its total.
  void note_bar(StepKey& key, double done);
  /// Notes a setting of the run ("batch_size", "mode"); all steps of one run share its value.
  void note_setting(std::string_view name, std::string_view value);

  /// Number of values taken so far.
  std::size_t size() const { return steps_; }

  std::vector<StepKey> keys;
  std::vector<std::string> near;
  std::vector<std::string> near_with_unit;  ///< those whose numbers state a unit
  /// A setting with several values, and these values.
  std::string mixed;
  /// There are more steps or keys than are read, so some are missing.
  bool too_many = false;
  /// The last line has no end, so its number was left out.
  bool cut_off = false;
  std::size_t evaluations = 0;  ///< lines or rows of an evaluation, left out
  std::size_t warm_ups = 0;     ///< lines or rows of a warm-up, left out
  bool in_evaluation = false;   ///< below the heading of an evaluation
  ReadingRecord record;         ///< of the next reading

  /// Call it after everything is read. Records without training data are dropped if others have it,
  /// and the readings of a step on several ranks become one, the slowest.
  void settle();

 private:
  std::optional<double> take_seconds(StepKey& key, const StepValue& value) const;

  const StepTimesAsked& asked_;
  std::string asked_key_;  ///< in lower case
  std::size_t steps_ = 0;
  std::string last_bar_;
  std::vector<std::pair<std::string, std::string>> settings_;
};

/// Reads fairseq's "ups" as updates per second. If it is printed too roughly, it is computed from
/// "wps" and "wpb" in the same record. Returns the program whose unit it is.
std::string take_updates(StepValue& value, std::string_view shown, double words_per_second,
                         double words_per_batch);

/// What a field says about its record: {"mode": "val"}, {"is_train": false}, {"warmup": true},
/// {"phase": "warmup"}.
enum class RecordOf { unknown, evaluation, warm_up };
RecordOf record_of(std::string_view name, std::string_view value);
/// The meaning of a name among the other names. With "batches" and "time" present,
/// "device/batches_per_sec" is the rate of steps and "batches_per_sec" its sum over devices, as in
/// Lightning's Throughput.
StepTimeName step_time_name_among(std::string_view name, const std::vector<std::string>& all);
/// Whether a name counts steps: "step", "global_step", "iter".
bool counts_steps_by_name(std::string_view name);
bool is_rank_name(std::string_view name);

/// Whether a column or a key names a setting of a run.
bool is_run_setting(std::string_view name);

}  // namespace ddpsim
