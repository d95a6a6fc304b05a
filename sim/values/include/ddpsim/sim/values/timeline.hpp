// One type of timeline for simulated, measured and imported steps, so that any two can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

enum class Track { host, compute, communication };
std::string_view name_of(Track track);

/// The parameters that a span of the timeline is about. The span works on their gradients, for
/// example on those in its bucket.
struct SpanParameters {
  std::string first;  ///< in the order in which gradients are written
  std::string last;
  std::int64_t count = 0;
  bool operator==(const SpanParameters&) const = default;
};

/// Absent if `parameters` is empty.
std::optional<SpanParameters> span_parameters(const Workload& workload,
                                              std::span<const std::size_t> parameters);

struct Span {
  Track track = Track::compute;
  std::string name;                   ///< "forward", "backward", "all_reduce", …
  std::optional<std::size_t> bucket;  ///< the bucket that the span belongs to
  TimePoint start;
  TimePoint end;
  /// Set for backward and for spans that carry a bucket, if known.
  std::optional<SpanParameters> parameters = std::nullopt;
};

struct RankTimeline {
  int rank = 0;
  std::vector<Span> spans;  ///< by start, then in execution order
  /// Which of the GPUs of different speeds it is: "slowest", "usual". Mostly empty.
  std::string gpu = {};
};

struct Timeline {
  std::vector<RankTimeline> ranks;
  std::string clock;  ///< what time zero means
  std::vector<std::pair<std::string, std::string>> provenance;
};

}  // namespace ddpsim
