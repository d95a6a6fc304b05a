#include "sweep_dispatch.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {

SweepDispatch::SweepDispatch(SweepOutput& output, std::size_t count)
    : output_(output), kept_(output.kept()), count_(count), next_(output.kept()) {}

PointRange SweepDispatch::take(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const PointRange range{.first = next_, .count = ended_ ? 0 : std::min(most, count_ - next_)};
  next_ += range.count;
  return range;
}

void SweepDispatch::put(std::size_t k, std::string line) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  try {
    output_.put(k, std::move(line));
    if (!progress_.go_on(++done_, count_ - kept_)) ended_ = true;
  } catch (...) {
    end_with(std::current_exception());
  }
}

void SweepDispatch::end(std::exception_ptr reason) {
  const std::lock_guard lock(mutex_);
  end_with(std::move(reason));
}

void SweepDispatch::end_with(std::exception_ptr reason) {
  if (!thrown_) thrown_ = std::move(reason);
  ended_ = true;
}

std::size_t SweepDispatch::left() const {
  const std::lock_guard lock(mutex_);
  return ended_ ? 0 : count_ - next_;
}

bool SweepDispatch::over() const {
  const std::lock_guard lock(mutex_);
  return ended_ || output_.written() == count_;
}

bool SweepDispatch::all_there() const {
  const std::lock_guard lock(mutex_);
  if (thrown_) std::rethrow_exception(thrown_);
  return output_.written() == count_;
}

}  // namespace ddpsim
