// Kernels of two traces by kind: whether the same ones got slower alike, one kind did, or others run.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/traces/kernel_kinds.hpp"

namespace ddpsim {

enum class KernelChange {
  none,
  slower_alike,  ///< as many of each kind, each longer by about the same factor: the GPU
  one_kind,  ///< as many of each kind, some of them longer than the rest: another choice for that kind, or its memory
  others_run  ///< more or fewer of a kind: other kernels
};

struct KernelComparison {
  struct Row {
    KernelKind kind = KernelKind::other;
    KernelTimes::OfKind before, after;
  };
  std::vector<Row> rows;  ///< kinds either has, the largest change of time first
  KernelChange change = KernelChange::none;
  std::string says;  ///< in words; empty of none
};

KernelComparison compare_kernels(const KernelTimes& before, const KernelTimes& after);

}  // namespace ddpsim
