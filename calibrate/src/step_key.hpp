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

/// Whether what stands in front of a number says that it is of an evaluation: "Test: [10/50] Time 0.1".
/// "val loss 4.2" is a metric of training.
bool is_of_evaluation(std::string_view before);

/// Whether a line counts steps: "iter 10", "step: 5/100", "Epoch: [0][10/500]", "10 | loss 7.8".
bool counts_steps(std::string_view line);

/// What a progress bar is of: "Loading checkpoint shards" of "Loading checkpoint shards: 50%|##".
struct ProgressBar {
  std::string_view heading;  ///< without numbers at its end
  std::string_view total;    ///< "500" of "50/500"; may be empty
  double done = 0;           ///< 50
  bool of_training = true;   ///< its heading says nothing else
};
std::optional<ProgressBar> progress_bar(std::string_view line);

}  // namespace ddpsim
