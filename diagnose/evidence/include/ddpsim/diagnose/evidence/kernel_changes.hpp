// Compares the kernels of two traces by kind: whether all got slower equally, only one kind did, or
// other kernels run.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/traces/kernel_kinds.hpp"

namespace ddpsim {

enum class KernelChange {
  none,
  /// Each kind has as many kernels as before, and all kinds take longer by about one factor: the
  /// GPU is slower.
  slower_alike,
  /// Each kind has as many kernels as before, but some kinds got longer than the rest: a library
  /// chose other kernels for them, or their memory is slower.
  one_kind,
  others_run  ///< more or fewer of a kind: other kernels
};

struct KernelComparison {
  struct Row {
    KernelKind kind = KernelKind::other;
    KernelTimes::OfKind before, after;
  };
  /// Kinds that either side has, largest change of time first.
  std::vector<Row> rows;
  KernelChange change = KernelChange::none;
  std::string says;  ///< in words; empty if nothing changed
};

KernelComparison compare_kernels(const KernelTimes& before, const KernelTimes& after);

}  // namespace ddpsim
