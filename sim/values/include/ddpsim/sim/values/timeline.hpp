// One timeline type for simulated, measured and imported steps: anything can be laid over anything.
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

/// Parameters whose gradients a span holds.
struct SpanParameters {
  std::string first;  ///< in the order in which the gradients are written
  std::string last;
  std::int64_t count = 0;
  bool operator==(const SpanParameters&) const = default;
};

/// Absent where there are none.
std::optional<SpanParameters> span_parameters(const Workload& workload,
                                              std::span<const std::size_t> parameters);

struct Span {
  Track track = Track::compute;
  std::string name;                   ///< "forward", "backward", "all_reduce", …
  std::optional<std::size_t> bucket;  ///< where the span belongs to one
  TimePoint start;
  TimePoint end;
  /// Of backward, and of what carries a bucket; absent where not known.
  std::optional<SpanParameters> parameters = std::nullopt;
};

struct RankTimeline {
  int rank = 0;
  std::vector<Span> spans;  ///< by start, then in order of execution
  std::string gpu =
      {};  ///< which of those that differ in speed it is: "slowest", "usual"; mostly empty
};

struct Timeline {
  std::vector<RankTimeline> ranks;
  std::string clock;  ///< what time zero means
  std::vector<std::pair<std::string, std::string>> provenance;
};

}  // namespace ddpsim
