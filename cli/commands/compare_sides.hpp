// OLD and NEW of `diff` -> what differs between them, and why.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "diff_expected.hpp"
#include "diff_side.hpp"

namespace ddpsim {

/// What is asked of a comparison, beside its two sides.
struct SideComparison {
  std::optional<std::string> pairs;    ///< file of the bandwidths of pairs of nodes
  std::optional<double> max_slowdown;  ///< percent
  std::optional<int> gpus_per_node;
  ExpectedArguments expected;
};

/// Steps are compared where both sides have one, all-reduces where both have logs of them, and else what their logs,
/// environments and machines say. Throws InputError where the two have nothing in common, or no times for a limit.
DifferenceReport compare_sides(const DiffSide& before, const DiffSide& after,
                               const SideComparison& asked);

}  // namespace ddpsim
