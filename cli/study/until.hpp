// --until: along a range, where does something hold? Of one candidate's figure (efficiency<90%), or of two candidates' order (new
// faster than old). Along ranges that were written out, of which every candidate is compared, and along a searched one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare_outcome.hpp"
#include "searched_range.hpp"

namespace ddpsim {

struct Condition {
  std::string text;
  /// "A faster than B", "A cheaper than B"
  struct Order {
    std::string ahead;
    std::string behind;
    bool in_cost = false;
  };
  std::optional<Order> order;
  // Without an order, a figure:
  CandidateFigure figure{};
  Than than{};
  double threshold = 0;  ///< a share, samples/s, seconds, USD
  /// Of several workloads: of all of them together.
  bool asks_mix() const { return order || figure == CandidateFigure::usd; }
};

/// efficiency<90%, speed>20000 (samples/s), step>120ms, usd>1.5 (of what costs are told of); A faster than B, A cheaper than B.
/// Throws UsageError.
Condition parse_condition(const std::string& text);

/// Candidates of which a condition speaks at one place of a range.
struct Asked {
  std::size_t candidate;
  std::optional<std::size_t> other;  ///< of an order
};

/// What is known of it; absent where a figure is not. `workload`: whose figure.
std::optional<Holds> holds(const Condition& condition, const CompareOutcome& outcome,
                           std::size_t workload, const Asked& asked);

/// Candidates that are called so, in their order. Throws UsageError where none is.
std::vector<std::size_t> called(const std::string& name, const std::vector<Candidate>& candidates,
                                const std::string& condition);

/// Along every range that was written out, in its order: of each workload's figures, else of the mix. Throws UsageError
/// where there is no such range, or where nothing is known of a figure.
std::vector<Until> until_written_out(const std::vector<Condition>& conditions,
                                     const CompareOutcome& outcome,
                                     const std::vector<ReadWorkload>& workloads);

}  // namespace ddpsim
