#include "why.hpp"

#include <fmt/format.h>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "gain.hpp"

namespace ddpsim {
namespace {

/// A time with the digits that people compare: "3.21 ms", "45.2 us".
std::string text(Duration time) {
  const double us = time.microseconds();
  return us < 1000 ? fmt::format("{:.3g} us", us) : fmt::format("{:.3g} ms", us / 1000);
}

struct Side {
  StepTimes times;
  BucketResult first;
  BucketResult last;
  /// From last arrival to end, summed over the all-reduces.
  Duration all_reduces;

  Duration last_transfer() const { return last.end - last.last_arrival; }
};

Side side(const Job& job) {
  const StepResult step = simulate(job, nullptr, WithTimeline::no).step;
  Side side{.times = step.times,
            .first = step.buckets.front(),
            .last = step.buckets.back(),
            .all_reduces = {}};
  for (const BucketResult& bucket : step.buckets)
    side.all_reduces += bucket.end - bucket.last_arrival;
  return side;
}

std::string counted_all_reduces(std::size_t count) {
  return fmt::format("{} all-reduce{}", count, count == 1 ? "" : "s");
}

/// Explains less exposed communication after backward: a smaller last bucket, or a link that is
/// free earlier.
std::string why_less_exposed(const Side& before, const Side& after) {
  const Duration less = before.times.loss[LossCause::exposed_all_reduce] -
                        after.times.loss[LossCause::exposed_all_reduce];
  const Bytes old_last = before.last.bucket.bytes;
  const Bytes new_last = after.last.bucket.bytes;
  if (new_last < old_last && (before.last_transfer() - after.last_transfer()) >= less.scaled(0.5))
    return fmt::format("the last bucket, which cannot be hidden, shrinks from {} to {}",
                       rounded_size_text(old_last), rounded_size_text(new_last));
  if (before.all_reduces - after.all_reduces >= less.scaled(0.5))
    return fmt::format("all-reduces take {} together, not {}", text(after.all_reduces),
                       text(before.all_reduces));
  if (after.first.start < before.first.start)
    return fmt::format("the first all-reduce begins {} earlier: its bucket is {}, not {}",
                       text(before.first.start - after.first.start),
                       rounded_size_text(after.first.bucket.bytes),
                       rounded_size_text(before.first.bucket.bytes));
  return fmt::format("backward hides {} more of the all-reduces", text(less));
}

}  // namespace

std::string why_faster(const Job& before, const Job& after) {
  const std::size_t count_before = before.options().buckets->size();
  const std::size_t count_after = after.options().buckets->size();
  if (count_before == 0 || count_after == 0) return "";
  const Side old = side(before);
  const Side chosen = side(after);
  LossCause most = LossCause::exposed_all_reduce;
  const auto less = [&](LossCause cause) {
    return old.times.loss[cause] - chosen.times.loss[cause];
  };
  for (const LossCause cause : all_loss_causes())
    if (less(cause) > less(most)) most = cause;
  std::string why;
  if (most == LossCause::interference)
    why = fmt::format("NCCL's kernels run during backward for {}, not {}, and slow it by {} less",
                      text(chosen.all_reduces), text(old.all_reduces), text(less(most)));
  else if (most == LossCause::hooks || most == LossCause::launch_bound)
    why = fmt::format("the GPU waits {} less for its host", text(less(most)));
  else if (most == LossCause::copies)
    why = fmt::format("copies take {} less", text(less(most)));
  else
    why = why_less_exposed(old, chosen);
  if (count_before != count_after)
    why += fmt::format("; {}, not {}", counted_all_reduces(count_after), count_before);
  return why;
}

}  // namespace ddpsim
