#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

std::string_view name_of(Track track) {
  switch (track) {
    case Track::host:
      return "host";
    case Track::compute:
      return "compute";
    case Track::communication:
      return "communication";
  }
  return "";
}

std::optional<SpanParameters> span_parameters(const Workload& workload,
                                              std::span<const std::size_t> parameters) {
  if (parameters.empty()) return std::nullopt;
  return SpanParameters{.first = workload.parameters[parameters.front()].name,
                        .last = workload.parameters[parameters.back()].name,
                        .count = static_cast<std::int64_t>(parameters.size())};
}

}  // namespace ddpsim
