// What a text says of its steps, by key, before it is decided which key is the step's time.
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

/// Step times of one run that are read; a log or table of more is refused.
inline constexpr std::size_t kMostSteps = 1'000'000;
inline constexpr std::size_t kMostStepKeys = 64;

/// What a line, a row or an object says beside its numbers.
struct ReadingRecord {
  int rank = -1;      ///< the process that wrote it; negative: not said
  double step = -1;   ///< as it counts them; negative: not said
  bool bare = false;  ///< it has a time of loading data beside its time, and nothing of a training
};

struct StepReading {
  double value = 0;        ///< seconds, or items a second; NaN: without a unit
  std::uint32_t line = 0;  ///< from 1; 0: a document has none
};

/// One key or column and its numbers, in the order of the file.
struct StepKey {
  std::string name;
  StepTimeName meaning;
  bool asked = false;  ///< by the user
  std::vector<StepReading> readings;
  std::vector<ReadingRecord>
      records;              ///< of each reading; empty where none names a rank or is bare
  double first_number = 0;  ///< as it stands there, and the last one
  double last_number = 0;
  bool rising = true;          ///< no number is below the one before
  bool of_run = false;         ///< one mean of a whole run: "Total time: 0:10:22 (0.1234 s / it)"
  bool of_bar = false;         ///< a progress bar's running mean
  double bar_at = 0;           ///< how far the bar was
  bool begins_anew = false;    ///< it went back
  std::size_t parts = 0;       ///< into which other bars between cut it
  std::size_t deviations = 0;  ///< readings with "± 0.3" behind them: means of all so far
  std::size_t own_units = 0;   ///< readings that state another unit than the name
  double first_own_s = 0;      ///< the unit that the first of these states
  double rounding = 1;         ///< of the most exact number: how far off it may be, as a part of it
  std::size_t ranks = 0;       ///< whose slowest is each step's reading; 0: of one alone
  std::size_t without_number = 0;  ///< "n/a", empty cells
  std::size_t of_evaluation = 0;   ///< left out
  std::uint32_t without_unit = 0;  ///< the first line whose number has no unit; 0: none
  std::string without_unit_text;
  std::string convention;  ///< whose unit was taken where none is stated
  std::string thousands;   ///< "1,234", which nothing else shows to be thousands
  std::uint32_t thousands_line = 0;
  std::uint32_t problem_line = 0;
  std::string problem;  ///< the first number that is not understood
};

class StepReadings {
 public:
  explicit StepReadings(const StepTimesAsked& asked);

  /// Whether this is the key that the user named.
  bool is_asked(std::string_view name) const;
  /// The key of this name; nullptr where there are too many.
  StepKey* key(std::string_view name, const StepTimeName& meaning, bool asked);
  void add(StepKey& key, const StepValue& value, std::uint32_t line, std::string_view shown);
  /// A name that is none of a step's time, though it looks like one: for messages. `own_unit`: its numbers state one.
  void note_near(std::string_view name, bool own_unit);
  /// A progress bar's reading, at `done` of its total.
  void note_bar(StepKey& key, double done);
  /// A setting of the run ("batch_size", "mode"), of which steps of one run have one value.
  void note_setting(std::string_view name, std::string_view value);

  /// Numbers taken so far.
  std::size_t size() const { return steps_; }

  std::vector<StepKey> keys;
  std::vector<std::string> near;
  std::vector<std::string> near_with_unit;  ///< those of them whose numbers state a unit
  std::string mixed;            ///< a setting of which there are several values, and these
  bool too_many = false;        ///< more steps or keys than are read: not all are here
  bool cut_off = false;         ///< the last line is without an end, and its number was left out
  std::size_t evaluations = 0;  ///< lines or rows of an evaluation, left out
  std::size_t warm_ups = 0;     ///< lines or rows that say they are of a warm-up, left out
  bool in_evaluation = false;   ///< below a heading of one
  ReadingRecord record;         ///< of what is added next

  /// When all is read: records without anything of a training go where others have it, and each step's readings of
  /// several ranks become one, its slowest.
  void settle();

 private:
  std::optional<double> take_seconds(StepKey& key, const StepValue& value) const;

  const StepTimesAsked& asked_;
  std::string asked_key_;  ///< in small letters
  std::size_t steps_ = 0;
  std::string last_bar_;
  std::vector<std::pair<std::string, std::string>> settings_;
};

/// fairseq's "ups" as updates a second: from "wps" and "wpb" beside it where it is printed too roughly. Whose unit it is.
std::string take_updates(StepValue& value, std::string_view shown, double words_per_second,
                         double words_per_batch);

/// What a field of a record says that the record is of: {"mode": "val"}, {"is_train": false}, {"warmup": true}, {"phase": "warmup"}.
enum class RecordOf { unknown, evaluation, warm_up };
RecordOf record_of(std::string_view name, std::string_view value);
/// Of a name, by the names beside it: where "batches" and "time" stand beside "device/batches_per_sec", that is the rate
/// of steps, and "batches_per_sec" its sum over devices, as Lightning's Throughput writes them.
StepTimeName step_time_name_among(std::string_view name, const std::vector<std::string>& all);
/// The count of steps: "step", "global_step", "iter".
bool counts_steps_by_name(std::string_view name);
bool is_rank_name(std::string_view name);

/// Whether a column or a key names a setting of a run.
bool is_run_setting(std::string_view name);

}  // namespace ddpsim
