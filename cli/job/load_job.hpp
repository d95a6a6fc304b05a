// WORKLOAD and CLUSTER and what relates them: read, checked against each other, ready to simulate.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/jobs/archive_calibration.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "job_arguments.hpp"
#include "typed_line.hpp"

namespace ddpsim {

struct LoadedJob {
  Job job;
  Provenance provenance;
  Trust trust;  ///< confidence, replay and correction not filled in
  std::optional<MeasuredStep> measured_step;
  std::optional<Bytes> memory;  ///< of each GPU, as stated

  ReportContext context() const { return {job, provenance, trust}; }
};

/// How a cluster is read; of many jobs on the same cluster once.
struct ClusterReaders {
  std::function<Cluster(const ClusterRequest&)> cluster = load_calibrated_cluster;
  std::function<Fabric(const ClusterRequest&)> fabric = [](const ClusterRequest& request) {
    return build_fabric(request);
  };
};

/// Options by themselves and beside each other, before anything is read. Throws UsageError or InputError.
void require_options(const JobArguments& arguments, const TypedLine& typed);

/// `typed`: what `arguments` were made of. `read`: the workload where it was read already. Throws
/// UsageError or InputError.
LoadedJob load_job(const JobArguments& arguments, const TypedLine& typed,
                   std::optional<LoadedWorkload> read = std::nullopt,
                   const ClusterReaders& readers = {});

/// Replays today's step, where it was measured: the job that is steady and takes what was measured, compute
/// being what the replay misses. Warns where the measurement cannot be this job's. Throws InputError where it
/// can be no step of this recording's.
Job replay_current(LoadedJob& loaded, const Job& steady);

/// `next`, but where a profiler may have made the waits that lead: then to measure a step without it.
std::string next_or_measure(const Job& job, TypedLine typed, const char* command, std::string next);

/// What the GPU does with a step of this job.
ReportedStep reported_step(const Job& job, const StepTimes& times);

/// Takes the profiler's share of the recorded waits out of the job, where `measured_step` tells it, and says so.
std::optional<std::string> without_recorded_waits(LoadedJob& loaded);

/// Refuses workloads that cannot be simulated.
void require_simulatable(const LoadedJob& loaded);
/// Refuses workloads for which a search over bucket caps would take minutes; `instead`: what to do. Throws InputError.
void require_searchable(const LoadedJob& loaded, const std::string& instead);

/// What a job holds in memory.
struct CountedMemory {
  PeakMemory peak;
  std::optional<Diagnostic> problem;  ///< why there is no answer, where there is none
  std::string remedy;                 ///< with what it would fit; empty where it does
};
/// Of a job that can be simulated; warns where memory may not suffice.
CountedMemory count_memory(LoadedJob& loaded);
/// A problem is thrown as InputError.
PeakMemory require_memory(LoadedJob& loaded);

}  // namespace ddpsim
