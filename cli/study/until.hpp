// --until: where along a range does a condition hold? The condition is about one candidate's figure (efficiency<90%) or about the order
// of two candidates (new faster than old). A range is written out, so that every value is a candidate, or it is searched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare_outcome.hpp"
#include "searched_range.hpp"

namespace ddpsim {

struct Condition {
  std::string text;
  /// "A faster than B" or "A cheaper than B".
  struct Order {
    std::string ahead;
    std::string behind;
    bool in_cost = false;
  };
  std::optional<Order> order;
  // The condition on a figure, if there is no order.
  CandidateFigure figure{};
  Than than{};
  double threshold = 0;  ///< share, samples/s, seconds or USD
  /// Returns whether the condition is about the mix if there are several workloads.
  bool asks_mix() const { return order || figure == CandidateFigure::usd; }
};

/// Parses efficiency<90%, speed>20000 (samples/s), step>120ms, usd>1.5 (in the unit of the costs), "A faster than B" or "A cheaper than
/// B". Throws UsageError.
Condition parse_condition(const std::string& text);

/// The candidates that a condition compares at one place of a range.
struct Asked {
  std::size_t candidate;
  std::optional<std::size_t> other;  ///< only for an order
};

/// Returns whether a condition holds for a workload; nothing if a figure is unknown.
std::optional<Holds> holds(const Condition& condition, const CompareOutcome& outcome,
                           std::size_t workload, const Asked& asked);

/// Returns the candidates called `name`, in their order. Throws UsageError if there is none.
std::vector<std::size_t> called(const std::string& name, const std::vector<Candidate>& candidates,
                                const std::string& condition);

/// Answers the conditions along every written-out range, in its order, for each workload or for the mix. Throws UsageError if there is no
/// such range or a figure is unknown.
std::vector<Until> until_written_out(const std::vector<Condition>& conditions,
                                     const CompareOutcome& outcome,
                                     const std::vector<ReadWorkload>& workloads);

}  // namespace ddpsim
