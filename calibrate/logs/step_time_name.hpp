// What the name of a column or a key says of its numbers.
//
//   step_time_ms  "iteration time (s)"  time/step  elapsed time per iteration (ms)     the time of a step
//   steps_per_second  it/s  Train throughput/batches_per_sec                           steps in a time
//   time  dt  Time  time_ms                                     a time: of a step where its line is of one
//   step_avg                                                    a step: its time where the value has a unit
//   CurrSamplesPerSec  tokens_per_sec_per_gpu  images/sec  tps  samples in a time
//   "time per 100 steps"  "Total img/sec on 8 GPU(s)"           of so many: its numbers are divided
//
// A name is its words: those for a step, for time, for a unit, and a few that change nothing ("avg"). One other word makes
// it the name of something else: data_time_ms, max_step_time, gpu0_step_time_ms, "eval step time".
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
  std::optional<double> unit_s;  ///< seconds in one unit; absent: the name has none
  bool rate = false;             ///< steps in one unit of time
  bool mean = false;             ///< "avg", "mean"
  bool running = false;          ///< "running": a mean over all steps so far
  bool tokens = false;           ///< of items: tokens, not samples
  Scope scope = Scope::unknown;  ///< of items
  bool near = false;   ///< of something else, though words for a step and for time are in it
  double count = 1;    ///< "time per 100 steps", "img/sec on 8 GPUs": of how many its numbers are
  bool doubt = false;  ///< "batch time for last 100 steps": of one step, or of all
};

StepTimeName step_time_name(std::string_view name);

/// The unit alone, of a name that the user chose, whatever else stands in it.
StepTimeName unit_in_name(std::string_view name);

/// "ms", "sec", "µs" in seconds; the word in small letters.
std::optional<double> unit_in_seconds(std::string_view word);
/// "stepTime(ms)", "step_time/ms" -> step, time, ms; "it/s" -> it, per, s. Small letters.
std::vector<std::string> words_in_name(std::string_view name);

/// "min", "hour" too: behind a number or "per"; elsewhere "min" is the least.
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
/// "eval", "validation", "Test": a run beside the training.
bool is_evaluation_word(std::string_view word);

}  // namespace ddpsim
