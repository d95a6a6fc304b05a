// Two timelines laid beside each other, span by span: predicted and measured.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

/// When something happened: from the first start to the last end of its spans.
struct Extent {
  TimePoint start;
  TimePoint end;
};

struct SpanDifference {
  Track track = Track::compute;
  std::string name;
  std::optional<std::size_t> bucket;
  std::optional<Extent> predicted;  ///< absent where only the other timeline has it
  std::optional<Extent> measured;
};

struct TimelineDifference {
  std::string source;  ///< of the measured timeline, as given
  int rank = 0;
  /// From the first span to the last end of rank `rank`.
  Extent predicted;
  Extent measured;
  std::vector<SpanDifference> spans;  ///< by predicted start; those only measured at the end
};

/// Of the lowest rank that both hold; absent where they share none. Spans of one track, name and bucket are one; where
/// one of the timelines does not tell the buckets of a name apart, neither does the difference.
std::optional<TimelineDifference> difference(const Timeline& predicted, const Timeline& measured,
                                             const std::string& source);

}  // namespace ddpsim
