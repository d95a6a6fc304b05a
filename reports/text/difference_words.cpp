#include "difference_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loss_lines.hpp"

namespace ddpsim {

std::string label_of(StepPart part, const StepBreakdown& after) {
  if (part == StepPart::kernels) return "the model's kernels";
  if (part == StepPart::all_reduce_transfer) return "all-reduce transfer";
  if (part == part_of(LossCause::slowest_gpu))
    return after.waited_for ? fmt::format("waiting for rank {}", *after.waited_for)
                            : "waiting for other ranks";
  if (part == part_of(LossCause::launch_bound)) return "launch gaps (host)";
  if (part == part_of(LossCause::copies)) return "DDP's copies";
  if (part == part_of(LossCause::unexplained)) return "unexplained";
  return std::string(
      label_of(static_cast<LossCause>(index_of(part) - index_of(StepPart::first_cause))));
}

Duration without_sign(Duration time) {
  return std::max(time, -time);
}

std::string signed_time(Duration time, TimeUnit unit) {
  const std::string text = time_text(without_sign(time), kDifferenceDigits, unit);
  return (time < Duration() ? "-" : "+") + text;
}

}  // namespace ddpsim
