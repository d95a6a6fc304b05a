// Rules of parameter servers (schedule: parameter_server.cpp): what a rank keeps, what changes and
// what is refused.

#include <fmt/format.h>

#include <string>

#include "ddpsim/sim/values/limits.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

/// Most servers simulated, because each has streams of its own on every rank.
constexpr int kMostServers = 1024;

std::optional<std::string> cannot_serve(const Job& job, const ParameterServer& scheme) {
  const Cluster& cluster = job.cluster();
  const auto problem = [](const std::string& text) { return "--scheme parameter_server: " + text; };
  if (cluster.hosts_per_node > 1)
    return problem(
        "nodes that share an NVLink domain are not simulated. Leave out the word domain, so that "
        "nodes reach each other by their NICs");
  if (job.network() != nullptr)
    return problem(
        "transfers between workers and servers are not simulated over the flow network. Leave out "
        "--network flow");
  if (scheme.host && cluster.nodes > 1)
    return problem(fmt::format(
        "servers=host: GPUs reach only the host of their own node, but {} has {} nodes. "
        "Give a number of servers",
        cluster.name, cluster.nodes));
  const int servers = scheme.host ? 1 : scheme.servers.value_or(cluster.nodes);
  if (!scheme.host && scheme.colocated && servers > cluster.nodes)
    return problem(fmt::format(
        "servers={}: each of the {} nodes holds at most one server. Add colocated=false for "
        "servers on nodes of their own",
        servers, cluster.nodes));
  if (servers > kMostServers)
    return problem(fmt::format("servers={}: at most {} are simulated", servers, kMostServers));
  if (scheme.update == ParameterServer::Update::worker &&
      scheme.pull != ParameterServer::Pull::backward)
    return problem(fmt::format(
        "pull={}: with update=worker the optimizer waits for all sums after backward. Leave out "
        "one of the two",
        name_of(scheme.pull)));
  if (scheme.placement == ParameterServer::Placement::partitioned) {
    const auto most = static_cast<double>(kMostSimulatedCollectives) / 4;
    double parts = 0;
    for (const Bytes gradient : job.gradients())
      parts +=
          1 + static_cast<double>(gradient.count()) / static_cast<double>(scheme.partition.count());
    if (parts > most)
      return problem(
          fmt::format("partition_mb={} gives about {:.0f} parts. At most {:.0f} are simulated",
                      static_cast<double>(scheme.partition.count()) / 1e6, parts, most));
  }
  if (scheme.groups(cluster.gpus_per_node).empty()) return std::nullopt;
  return cannot_group(job, cluster.gpus_per_node, "--scheme parameter_server: GPUs of a worker");
}

}  // namespace

/// In memory: a worker, without an optimizer if servers have it. The memory of its host and of
/// servers is not counted.
SchemeRules rules_of(const ParameterServer& scheme) {
  return {
      .schedule =
          [&scheme](const StepToPlan& step) { return schedule_parameter_server(step, scheme); },
      .kept_in_memory = [&scheme](const Job& /*job*/) -> KeptInMemory {
        return WholeTensors{.steps = scheme.update == ParameterServer::Update::worker};
      },
      .changed_numerics = [&scheme](const Job& /*job*/) -> std::string {
        return scheme.mode == ParameterServer::Mode::async
                   ? "a worker's gradients are computed from parameters that others have since "
                     "changed"
                   : "";
      },
      .cannot_simulate = [&scheme](const Job& job) -> std::optional<std::string> {
        return cannot_serve(job, scheme);
      },
      .rests_on = [](const Job& /*job*/) -> std::vector<std::string> {
        return {
            "transfers between workers and servers are not calibrated: they take bytes over rates "
            "(docs/reference/schemes.md). The server's processor is assumed to add up at "
            "server_bandwidth"};
      }};
}

}  // namespace ddpsim
