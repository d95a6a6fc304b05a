// Compares a predicted and a measured timeline span by span.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

/// The time from the first start to the last end of some spans.
struct Extent {
  TimePoint start;
  TimePoint end;
};

struct SpanDifference {
  Track track = Track::compute;
  std::string name;
  std::optional<std::size_t> bucket;
  /// Absent if only the measured timeline has the span.
  std::optional<Extent> predicted;
  /// Absent if only the predicted timeline has the span.
  std::optional<Extent> measured;
};

struct TimelineDifference {
  std::string source;  ///< the measured timeline, as given
  int rank = 0;
  /// From the first start to the last end on rank `rank`.
  Extent predicted;
  Extent measured;
  /// Sorted by predicted start. Spans that were only measured come last.
  std::vector<SpanDifference> spans;
};

/// Compares the lowest rank that both timelines hold; absent if they share no rank. Spans with the
/// same track, name and bucket count as one. If one timeline does not tell the buckets of a name
/// apart, the result does not either.
std::optional<TimelineDifference> difference(const Timeline& predicted, const Timeline& measured,
                                             const std::string& source);

}  // namespace ddpsim
