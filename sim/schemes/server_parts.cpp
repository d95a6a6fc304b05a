#include "server_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gradient_buckets.hpp"

namespace ddpsim {

std::string ServerPart::name(const Workload& workload) const {
  const std::string& whole = workload.parameters[parameter].name;
  return parts == 1 ? whole : fmt::format("{}[{}]", whole, part);
}

std::vector<ServerPart> server_parts(const Job& job, const ParameterServer& scheme, int servers) {
  std::vector<ServerPart> all;
  const bool cut = scheme.placement == ParameterServer::Placement::partitioned;
  for (const std::size_t parameter : parameters_as_defined(job.workload())) {
    const std::int64_t bytes = job.gradients()[parameter].count();
    const std::int64_t most = cut ? scheme.partition.count() : std::max<std::int64_t>(bytes, 1);
    const std::int64_t parts = std::max<std::int64_t>((bytes + most - 1) / most, 1);
    for (std::int64_t part = 0; part < parts; ++part)
      all.push_back({.parameter = parameter,
                     .part = static_cast<std::size_t>(part),
                     .parts = static_cast<std::size_t>(parts),
                     .server = all.size() % static_cast<std::size_t>(servers),
                     .bytes = Bytes(std::min(most, bytes - part * most))});
  }
  return all;
}

}  // namespace ddpsim
