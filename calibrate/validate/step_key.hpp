// Which key a number in a line belongs to, and what the line is about.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ddpsim {

/// The text before a number: "step_time=0.1", "elapsed time per iteration (ms): 527.8", "time
/// 561.94ms", "'loss': 0.3".
struct KeyBefore {
  std::string_view text;   ///< empty: the number stands alone
  std::size_t begin = 0;   ///< of the text, in the line
  bool separated = false;  ///< by "=" or ":"
  bool quoted = false;
};

/// `number_at` is where the number begins.
KeyBefore key_before(std::string_view line, std::size_t number_at);

/// Adds the count before the key: "time per 100 steps" for "steps", "img/sec on 8 GPU(s)" for
/// "GPU(s)".
KeyBefore with_count_before(std::string_view line, const KeyBefore& key);

/// Whether the text before a number shows that it belongs to an evaluation: "Test: [10/50] Time
/// 0.1". "val loss 4.2" is a metric of training.
bool is_of_evaluation(std::string_view before);

/// The step that a line counts: "iter 10", "step: 5/100", "Epoch: [0][10/500]", "10 | loss 7.8".
/// Absent if it counts none.
std::optional<double> step_of_line(std::string_view line);

/// The number after a separate word: in "iter 4 step 1", 4 belongs to "iter" and 1 to "step".
std::optional<double> number_behind(std::string_view line, std::string_view word);

/// Whether a heading such as "=== Evaluation epoch 1 ===" or "***** Running training *****" is
/// about an evaluation. Absent if the line is no heading.
std::optional<bool> heading_of_evaluation(std::string_view line);

/// A progress bar: "Loading checkpoint shards: 50%|##" is about "Loading checkpoint shards".
struct ProgressBar {
  std::string_view heading;  ///< without numbers at its end
  std::string_view total;    ///< "500" of "50/500"; may be empty
  double done = 0;           ///< 50
  bool of_training = true;   ///< its heading does not say otherwise
};
std::optional<ProgressBar> progress_bar(std::string_view line);

}  // namespace ddpsim
