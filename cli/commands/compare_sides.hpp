// The comparison of OLD and NEW in `diff`: what differs between them, and why.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "diff_expected.hpp"
#include "diff_side.hpp"

namespace ddpsim {

/// Options of a comparison.
struct SideComparison {
  std::optional<std::string> pairs;    ///< file of bandwidths between nodes
  std::optional<double> max_slowdown;  ///< percent
  std::optional<int> gpus_per_node;
  ExpectedArguments expected;
};

/// Compares the steps if both sides have one, else their logged all-reduces, else their logs, environments and machines. Throws InputError
/// if the sides have nothing in common, or have no times to hold against a limit.
DifferenceReport compare_sides(const DiffSide& before, const DiffSide& after,
                               const SideComparison& asked);

}  // namespace ddpsim
