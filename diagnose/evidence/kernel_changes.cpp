#include "ddpsim/diagnose/evidence/kernel_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ddpsim {
namespace {

/// A kind below this share of the total kernel time decides nothing.
constexpr double kMatters = 0.05;
/// Counts that differ by no more are equal, because steps may be recorded in part.
constexpr double kSameCount = 0.05;
/// Factors this close count as one, whether clocks or memory bandwidth limit a kernel.
constexpr double kOneFactor = 0.1;
constexpr double kLeastChange = 0.03;

double magnitude_of(double value) {
  return std::max(value, -value);
}

}  // namespace

KernelComparison compare_kernels(const KernelTimes& before, const KernelTimes& after) {
  KernelComparison result;
  double all_before = 0;
  double all_after = 0;
  for (std::size_t kind = 0; kind < kKernelKinds; ++kind) {
    const auto& old = before.kinds.at(kind);
    const auto& now = after.kinds.at(kind);
    if (old.count == 0 && now.count == 0) continue;
    result.rows.push_back({static_cast<KernelKind>(kind), old, now});
    all_before += old.time.microseconds();
    all_after += now.time.microseconds();
  }
  std::ranges::stable_sort(result.rows, [](const auto& a, const auto& b) {
    return magnitude_of((a.after.time - a.before.time).microseconds()) >
           magnitude_of((b.after.time - b.before.time).microseconds());
  });
  if (all_before <= 0 || magnitude_of(all_after / all_before - 1) < kLeastChange) return result;

  double least = std::numeric_limits<double>::max();
  double most = 0;
  for (const KernelComparison::Row& row : result.rows) {
    const double share = std::max(row.before.time.microseconds() / all_before,
                                  row.after.time.microseconds() / std::max(all_after, 1e-9));
    if (share < kMatters) continue;
    const double count = std::max(row.before.count, row.after.count);
    if (magnitude_of(row.after.count - row.before.count) > kSameCount * count) {
      result.change = KernelChange::others_run;
      result.says = fmt::format("{} kernels of kind {} a step before, {} now: other kernels run",
                                row.before.count, name_of(row.kind), row.after.count);
      return result;
    }
    const double factor = row.after.time / row.before.time;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  if (most <= 0) return result;
  const KernelComparison::Row& first = result.rows.front();
  if (most / least - 1 <= kOneFactor) {
    result.change = KernelChange::slower_alike;
    result.says = fmt::format(
        "the same number of kernels of each kind, all of them {:.2f} times "
        "as long",
        all_after / all_before);
  } else {
    result.change = KernelChange::one_kind;
    result.says = fmt::format(
        "the same number of kernels of each kind, but kind {} takes {:.2f} times as long, all "
        "kernels {:.2f}",
        name_of(first.kind), first.after.time / first.before.time, all_after / all_before);
  }
  return result;
}

}  // namespace ddpsim
