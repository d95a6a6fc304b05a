// What the name of a column or a key says about its numbers.
//
//   step_time_ms  "iteration time (s)"  time/step  elapsed time per iteration (ms)     the time of a step
//
//   steps_per_second  it/s  Train throughput/batches_per_sec                           steps in a time
//
//   time  dt  Time  time_ms                                     a time: of a step where its line is about one
//
//   step_avg                                                    a step: its time where the value has a unit
//
//   CurrSamplesPerSec  tokens_per_sec_per_gpu  images/sec  tps  samples in a time
//
//   "time per 100 steps"  "Total img/sec on 8 GPU(s)"           of several: its numbers are divided
//
// A name is split into words: words for a step, for time, for a unit, and a few without effect
// ("avg"). Any other word makes it a name of something else: data_time_ms, max_step_time,
// gpu0_step_time_ms, "eval step time".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/words.hpp"

namespace ddpsim {

struct StepTimeName {
  enum class Of { other, step_time, bare_time, step_word, items };
  enum class Scope { unknown, each_gpu, all_gpus };  ///< whose items are counted

  Of of = Of::other;
  /// Seconds in one unit; absent if the name has none.
  std::optional<double> unit_s;
  bool rate = false;  ///< steps in one unit of time
  bool mean = false;  ///< "avg", "mean"
  /// "running": a mean over all steps so far.
  bool running = false;
  bool tokens = false;           ///< items are tokens, not samples
  Scope scope = Scope::unknown;  ///< of items
  /// Something else, although it contains words for a step and for time.
  bool near = false;
  /// What its numbers must be divided by: "time per 100 steps", "img/sec on 8 GPUs".
  double count = 1;
  /// "batch time for last 100 steps" may be for one step or for all.
  bool doubt = false;
};

StepTimeName step_time_name(std::string_view name);

/// Only the unit in a name that the user chose, whatever else the name contains.
StepTimeName unit_in_name(std::string_view name);

/// Seconds in "ms", "sec", "µs"; the word is in lower case.
std::optional<double> unit_in_seconds(std::string_view word);
/// Words of a name in lower case: "stepTime(ms)", "step_time/ms" -> step, time, ms; "it/s" -> it,
/// per, s.
std::vector<std::string> words_in_name(std::string_view name);

/// Also accepts "min" and "hour", after a number or "per". Elsewhere "min" means the minimum.
std::optional<double> unit_or_longer_in_seconds(std::string_view word);
/// "it", "step", "batch" …
bool is_step_word(std::string_view word);
/// "steps", "iters", "batches"
bool is_word_of_steps(std::string_view word);
/// "samples", "img", "tok" …
bool is_item_word(std::string_view word);
bool is_token_word(std::string_view word);
/// "gpu", "device", "rank" …
bool is_gpu_word(std::string_view word);
/// "eval", "validation", "Test": not part of the training.
bool is_evaluation_word(std::string_view word);

}  // namespace ddpsim
