// Turns a request into a job: reads WORKLOAD and CLUSTER, checks them against each other, and
// prepares the simulation.
//
//   BuiltJob built = build_job({.workload = {.source = "resnet50-v100-b32"}, .cluster = {.text = "p3dn@2"}});
//   StepTimes step = simulate_times(built.job);
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ddpsim/jobs/archive_calibration.hpp"
#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/sim/certainty/trust.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/tune/provenance.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

struct BuiltJob {
  Job job;
  Provenance provenance;
  Trust trust;                                ///< warnings only: nothing is simulated yet
  std::optional<MeasuredStep> measured_step;  ///< as stated
  std::optional<Bytes> memory;                ///< of each GPU, as stated
};

/// How a cluster is read. A caller that builds many jobs on one cluster can read it once.
struct ClusterReaders {
  std::function<Cluster(const ClusterRequest&)> cluster = load_calibrated_cluster;
  std::function<Fabric(const ClusterRequest&)> fabric = [](const ClusterRequest& request) {
    return build_fabric(request);
  };
};

/// `read` is the workload if it was read already. Throws UsageError if the request contradicts
/// itself or what was read, and InputError if a file does.
BuiltJob build_job(const JobRequest& request, std::optional<LoadedWorkload> read = std::nullopt,
                   const ClusterReaders& readers = {});

/// Refuses workloads that cannot be simulated. Throws InputError.
void require_simulatable(const BuiltJob& built);
/// Refuses workloads for which a search over bucket caps would take minutes. `instead` says what to
/// do. Throws InputError.
void require_searchable(const BuiltJob& built, const std::string& instead);

}  // namespace ddpsim
