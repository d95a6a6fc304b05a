// Parameter servers beside their schedule (parameter_server.cpp): what a rank keeps, what changes and what is refused.

#include <fmt/format.h>

#include <string>

#include "ddpsim/sim/values/limits.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

/// Each has streams of its own on every rank.
constexpr int kMostServers = 1024;

std::optional<std::string> cannot_serve(const Job& job, const ParameterServer& scheme) {
  const Cluster& cluster = job.cluster();
  const auto problem = [](const std::string& text) { return "--scheme parameter_server: " + text; };
  if (cluster.hosts_per_node > 1)
    return problem(
        "nodes that share an NVLink domain are not simulated: leave the word domain out, so that "
        "nodes "
        "reach each other by their NICs");
  if (job.network() != nullptr)
    return problem(
        "what workers send to servers is not simulated over the flow network: leave out --network "
        "flow");
  if (scheme.host && cluster.nodes > 1)
    return problem(
        fmt::format("servers=host: GPUs reach the host of their own node, and {} has {} nodes; "
                    "give a number of "
                    "servers",
                    cluster.name, cluster.nodes));
  const int servers = scheme.host ? 1 : scheme.servers.value_or(cluster.nodes);
  if (!scheme.host && scheme.colocated && servers > cluster.nodes)
    return problem(fmt::format(
        "servers={}: one at most stands on each of the {} nodes; add colocated=false for nodes of "
        "their own",
        servers, cluster.nodes));
  if (servers > kMostServers)
    return problem(fmt::format("servers={}: at most {} are simulated", servers, kMostServers));
  if (scheme.update == ParameterServer::Update::worker &&
      scheme.pull != ParameterServer::Pull::backward)
    return problem(fmt::format(
        "pull={}: with update=worker the optimizer waits for all sums behind backward; leave out "
        "one of the two",
        name_of(scheme.pull)));
  if (scheme.placement == ParameterServer::Placement::partitioned) {
    const auto most = static_cast<double>(kMostSimulatedCollectives) / 4;
    double parts = 0;
    for (const Bytes gradient : job.gradients())
      parts +=
          1 + static_cast<double>(gradient.count()) / static_cast<double>(scheme.partition.count());
    if (parts > most)
      return problem(fmt::format("partition_mb={}: some {:.0f} parts; at most {:.0f} are simulated",
                                 static_cast<double>(scheme.partition.count()) / 1e6, parts, most));
  }
  if (scheme.groups(cluster.gpus_per_node).empty()) return std::nullopt;
  return cannot_group(job, cluster.gpus_per_node, "--scheme parameter_server: GPUs of a worker");
}

}  // namespace

/// In memory: a worker, without an optimizer where servers have it. Its host's and the servers' memory is not counted.
SchemeRules rules_of(const ParameterServer& scheme) {
  return {.schedule =
              [&scheme](const StepToPlan& step) { return schedule_parameter_server(step, scheme); },
          .kept_in_memory = [&scheme](const Job& /*job*/) -> KeptInMemory {
            return WholeTensors{.steps = scheme.update == ParameterServer::Update::worker};
          },
          .changed_numerics = [&scheme](const Job& /*job*/) -> std::string {
            return scheme.mode == ParameterServer::Mode::async
                       ? "a worker's gradients are of parameters that others have changed since"
                       : "";
          },
          .cannot_simulate = [&scheme](const Job& job) -> std::optional<std::string> {
            return cannot_serve(job, scheme);
          },
          .rests_on = [](const Job& /*job*/) -> std::vector<std::string> {
            return {
                "what workers send to servers and get back takes bytes over rates "
                "(docs/schemes.md): no log of it stands behind that, and the server's processor is "
                "taken to add up as server_bandwidth says"};
          }};
}

}  // namespace ddpsim
