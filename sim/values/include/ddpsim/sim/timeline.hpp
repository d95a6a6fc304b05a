// One timeline type for simulated, measured and imported steps: anything can be laid over anything.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

enum class Track { host, compute, communication };
std::string_view name_of(Track track);

struct Span {
  Track track = Track::compute;
  std::string name;                   ///< "forward", "backward", "all_reduce", …
  std::optional<std::size_t> bucket;  ///< where the span belongs to one
  TimePoint start;
  TimePoint end;
};

struct RankTimeline {
  int rank = 0;
  std::vector<Span> spans;  ///< by start, then in order of execution
};

struct Timeline {
  std::vector<RankTimeline> ranks;
  std::string clock;  ///< what time zero means
  std::vector<std::pair<std::string, std::string>> provenance;
};

}  // namespace ddpsim
