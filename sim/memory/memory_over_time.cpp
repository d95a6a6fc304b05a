#include "ddpsim/sim/memory/memory_over_time.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "ddpsim/sim/engine/schedule.hpp"
#include "memory_parts.hpp"

namespace ddpsim {
namespace {

class MemoryLevels {
 public:
  MemoryLevels(const PeakMemory& memory, const Workload& workload)
      : memory_(memory),
        ready_(workload.backward->ready),
        activations_(memory.activations, ready_.size()) {
    if (const MemoryMoment* forward = moment(PeakMoment::forward))
      before_forward_ = forward->parts.known() - forward->parts.activations.value_or(Bytes());
  }

  /// Draws the span. Spans must come in order.
  void draw(const Span& span) {
    if (span.name == name_of(OperationKind::forward)) {
      if (!forward_) forward_ = Pass{span.start, span.end};
      forward_->end = span.end;
    } else if (span.name == name_of(OperationKind::backward)) {
      draw_forward();
      draw_backward(span);
    } else if (span.name == name_of(OperationKind::optimizer)) {
      draw_moment(PeakMoment::optimizer, span);
    } else if (span.name.starts_with(name_of(OperationKind::model_averaging))) {
      draw_moment(PeakMoment::averaging, span);
    }
  }

  CounterLevels take() && { return std::move(levels_); }

 private:
  struct Pass {
    TimePoint start;
    TimePoint end;
  };

  const MemoryMoment* moment(PeakMoment at) const {
    const auto found = std::ranges::find(memory_.moments, at, &MemoryMoment::at);
    return found == memory_.moments.end() ? nullptr : &*found;
  }

  void set(TimePoint from, Bytes bytes) {
    if (levels_.empty() || levels_.back().value != bytes.count())
      levels_.push_back({from, bytes.count()});
  }

  /// Part of the recorded backward that is over when `gradients` of them are written, from 0 to 1.
  double share_before(std::size_t gradients) const {
    const Duration all = ready_.back().at;
    if (gradients == 0 || all <= Duration()) return 0;
    return std::clamp(ready_[gradients - 1].at.seconds() / all.seconds(), 0.0, 1.0);
  }

  /// Activations that forward kept and backward still holds while it computes gradient `k`.
  Bytes held(std::size_t k) const { return std::min(activations_.kept(), activations_.held(k)); }

  void draw_forward() {
    if (!forward_) return;
    set(forward_->start, before_forward_);
    const Duration length = forward_->end - forward_->start;
    for (std::size_t k = ready_.size(); k-- > 0;)
      set(forward_->start + length.scaled(1 - share_before(k + 1)), before_forward_ + held(k));
    forward_.reset();
    written_ = 0;
  }

  /// Gradients divide the span as they divide the recorded backward.
  void draw_backward(const Span& span) {
    if (!span.parameters) return;
    const auto count = static_cast<std::size_t>(span.parameters->count);
    const std::size_t last = std::min(written_ + count, ready_.size());
    const double from = share_before(written_);
    const double part = share_before(last) - from;
    for (std::size_t k = written_; k < last; ++k) {
      const double done = part > 0 ? (share_before(k) - from) / part : 0;
      set(span.start + (span.end - span.start).scaled(done), memory_.by_gradient[k]);
    }
    written_ = last;
    if (written_ == ready_.size()) set(span.end, memory_.by_gradient.back());
  }

  void draw_moment(PeakMoment at, const Span& span) {
    const MemoryMoment* found = moment(at);
    if (found == nullptr) return;
    set(span.start, found->parts.known());
    set(span.end, found->parts.known() - found->parts.temporaries);
  }

  const PeakMemory& memory_;
  const std::vector<ReadyEvent>& ready_;
  HeldActivations activations_;
  Bytes before_forward_;
  std::optional<Pass> forward_;  ///< not drawn yet
  std::size_t written_ = 0;      ///< gradients of this backward that are drawn
  CounterLevels levels_;
};

}  // namespace

CounterLevels memory_over_time(const PeakMemory& memory, const Workload& workload,
                               const RankTimeline& timeline) {
  if (!memory.activations || !workload.backward || workload.backward->ready.empty() ||
      memory.by_gradient.size() < workload.backward->ready.size())
    return {};
  MemoryLevels levels(memory, workload);
  for (const Span& span : timeline.spans)
    if (span.track == Track::compute) levels.draw(span);
  return std::move(levels).take();
}

}  // namespace ddpsim
