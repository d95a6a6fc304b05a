#include "collective_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/topologies/background_file.hpp"

namespace ddpsim {
namespace {

void require_sane_rates(const GlooLinks& links, const Cluster& cluster, const Workload& workload) {
  if (cluster.hosts() > 1 && cluster.network.kind == NetworkKind::none)
    throw UsageError("--backend gloo",
                     "gloo sends over NICs between nodes, but the cluster states none",
                     "Add some, such as nic:1x100Gbps:ib");
  double bytes = 0;
  for (const Parameter& parameter : workload.parameters)
    bytes += static_cast<double>(gradient_bytes(parameter).value_or(Bytes()).count());
  for (const BufferGroup& group : workload.buffers)
    bytes += static_cast<double>(group.bytes.count());
  const double gpus = std::max(1, cluster.gpus_per_host());
  double slowest = std::min({links.process.bytes_per_second(), links.host.bytes_per_second() / gpus,
                             links.copy.bytes_per_second(), links.fresh.bytes_per_second()});
  if (cluster.hosts() > 1)
    slowest = std::min(
        slowest, std::min(cluster.network.per_nic, trunk_rate(cluster)).bytes_per_second() / 2);
  // For the rounds of a broadcast and the two volumes of an all-reduce.
  constexpr double kPasses = 64;
  const double steps = 4.0 * cluster.ranks() * static_cast<double>(workload.parameters.size()) *
                       (links.step + links.start).seconds();
  if (!(kPasses * bytes / slowest + steps < kLongestStepSeconds))
    throw UsageError(
        "--gloo",
        fmt::format("a step would take longer than {:.0f} days", kLongestStepSeconds / 86400),
        "Check the units of rates");
}

}  // namespace

CollectiveModel collective_model(const TimedCluster& timed, const JobRequest& request,
                                 const Workload& workload, const ClusterReaders& readers) {
  const CollectivesRequest& asked = request.collectives;
  if (asked.backend == Backend::gloo) {
    require_sane_rates(timed.gloo, timed.cluster, workload);
    return GlooModel{.links = timed.gloo};
  }
  if (asked.network == NetworkModel::analytic) return AnalyticModel{.tuning = timed.tuning};
  SharedFabric shared =
      asked.background ? load_background(*asked.background, request.cluster)
                       : SharedFabric{.fabric = readers.fabric(request.cluster), .background = {}};
  return flow_model(timed.tuning, std::move(shared.fabric), std::move(shared.background));
}

}  // namespace ddpsim
