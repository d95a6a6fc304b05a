// Which key a number of a line belongs to, and what the line is of.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ddpsim {

/// What stands before a number: "step_time=0.1", "elapsed time per iteration (ms): 527.8", "time 561.94ms", "'loss': 0.3".
struct KeyBefore {
  std::string_view text;   ///< empty: the number stands alone
  std::size_t begin = 0;   ///< of the text, in the line
  bool separated = false;  ///< by "=" or ":"
  bool quoted = false;
};

/// `number_at`: where the number begins.
KeyBefore key_before(std::string_view line, std::size_t number_at);

/// With what counts in front of it: "time per 100 steps" for "steps", "img/sec on 8 GPU(s)" for "GPU(s)".
KeyBefore with_count_before(std::string_view line, const KeyBefore& key);

/// Whether what stands in front of a number says that it is of an evaluation: "Test: [10/50] Time 0.1".
/// "val loss 4.2" is a metric of training.
bool is_of_evaluation(std::string_view before);

/// The step that a line counts: "iter 10", "step: 5/100", "Epoch: [0][10/500]", "10 | loss 7.8". Absent: it counts none.
std::optional<double> step_of_line(std::string_view line);

/// The number behind a word of its own: 4 of "iter 4 step 1" is that of "iter", 1 that of "step".
std::optional<double> number_behind(std::string_view line, std::string_view word);

/// A heading, such as "=== Evaluation epoch 1 ===" or "***** Running training *****", is of an evaluation, or of anything
/// else. Absent: the line is none.
std::optional<bool> heading_of_evaluation(std::string_view line);

/// What a progress bar is of: "Loading checkpoint shards" of "Loading checkpoint shards: 50%|##".
struct ProgressBar {
  std::string_view heading;  ///< without numbers at its end
  std::string_view total;    ///< "500" of "50/500"; may be empty
  double done = 0;           ///< 50
  bool of_training = true;   ///< its heading says nothing else
};
std::optional<ProgressBar> progress_bar(std::string_view line);

}  // namespace ddpsim
