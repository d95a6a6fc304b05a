// What is asked of a job -> the job: WORKLOAD and CLUSTER read, checked against each other, ready to simulate.
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
  Trust trust;                                ///< its warnings: nothing is simulated yet
  std::optional<MeasuredStep> measured_step;  ///< as stated
  std::optional<Bytes> memory;                ///< of each GPU, as stated
};

/// How a cluster is read. Who builds many jobs on one cluster may read it once.
struct ClusterReaders {
  std::function<Cluster(const ClusterRequest&)> cluster = load_calibrated_cluster;
  std::function<Fabric(const ClusterRequest&)> fabric = [](const ClusterRequest& request) {
    return build_fabric(request);
  };
};

/// `read`: the workload where it was read already. Throws UsageError where what is asked contradicts itself or what was read,
/// InputError where a file does.
BuiltJob build_job(const JobRequest& request, std::optional<LoadedWorkload> read = std::nullopt,
                   const ClusterReaders& readers = {});

/// Refuses workloads that cannot be simulated. Throws InputError.
void require_simulatable(const BuiltJob& built);
/// Refuses workloads for which a search over bucket caps would take minutes; `instead`: what to do. Throws InputError.
void require_searchable(const BuiltJob& built, const std::string& instead);

}  // namespace ddpsim
