// Finds the begin and end of steps, and the threads that run them.
#include <algorithm>
#include <string>
#include <utility>

#include "backward_passes.hpp"
#include "trace_records.hpp"

namespace ddpsim {

void TraceRecords::find_autograd_threads() {
  bool others = false;
  const auto note = [&](const auto& list) {
    for (const PackedNode& node : list) {
      const auto thread = static_cast<std::uint16_t>(node.thread & ~kNodeInMicroseconds);
      autograd_threads_[thread] = true;
      others = others || !calling_threads_[thread];
    }
  };
  note(any_);
  note(gradients_);
  note(gradients_with_hooks_);
  if (!others) return;
  for (std::size_t i = 0; i < calling_threads_.size(); ++i) {
    if (calling_threads_[i]) autograd_threads_[i] = false;
  }
}

void TraceRecords::find_steps() {
  std::ranges::stable_sort(steps_, {}, [](const StepMarker& step) { return step.span.start_ns; });
  std::ranges::stable_sort(optimizers_, {}, &HostSpan::end_ns);
  if (!steps_.empty() || events_ == 0) return;
  // A step may run several optimizers. It ends with the last one before the next gradients.
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    const std::int64_t end = optimizers_[i].end_ns;
    const bool last = i + 1 == optimizers_.size();
    if (last || !nodes(Node::gradient, end, optimizers_[i + 1].end_ns).empty()) ends.push_back(end);
  }
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    steps_.push_back({"step " + std::to_string(i), {ends[i], ends[i + 1], 0}, 1});
  }
  step_source_ = steps_.empty() ? StepSource::whole : StepSource::optimizer;
  if (steps_.empty()) steps_.push_back({"the whole trace", {first_ns_, last_ns_ + 1, 0}, 1});
}

void TraceRecords::divide_steps() {
  std::deque<StepMarker> whole;
  whole.swap(steps_);
  for (const StepMarker& step : whole)
    for (StepMarker& part : split_by_passes(*this, step)) steps_.push_back(std::move(part));
}

std::optional<std::int64_t> TraceRecords::optimizer_end(std::int64_t from_ns,
                                                        std::int64_t to_ns) const {
  std::optional<std::int64_t> end;
  for (const HostSpan& span : optimizers_)
    if (span.start_ns >= from_ns && span.start_ns < to_ns)
      end = std::max(end.value_or(span.end_ns), span.end_ns);
  return end;
}

}  // namespace ddpsim
