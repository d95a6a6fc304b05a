// WORKLOAD and CLUSTER and what relates them: read, checked against each other, ready to simulate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend_arguments.hpp"
#include "cluster_arguments.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/job.hpp"
#include "ddpsim/traces/import.hpp"
#include "typed_line.hpp"
#include "variation_arguments.hpp"
#include "workload_source.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct JobArguments {
  std::string workload;
  ClusterArguments cluster;
  std::optional<std::string> model;
  BackendArguments backend;
  std::optional<std::string> interference;
  std::string network = "analytic";
  std::optional<std::string> background;
  std::optional<std::string> measured_step;
  std::optional<std::string> gpu;
  std::optional<std::string> compute_scale;
  Timing timing = Timing::recorded;
  std::optional<std::int64_t> batch;
  DdpArguments ddp;
  VariationArguments variation;
  int iterations = 0;  ///< to be simulated; 0: the steady step
};

void add_job_options(CLI::App& command, JobArguments& arguments);

/// --model and --timing, of every command that reads a trace.
void add_model_option(CLI::App& command, std::optional<std::string>& model);
void add_timing_option(CLI::App& command, Timing& timing);

struct LoadedJob {
  Job job;
  std::string workload_source;  ///< as given on the command line, for messages
  std::optional<Duration> measured_step;
  ReportContext context;  ///< confidence and replay not filled in
};

/// `typed`: what `arguments` were made of. `read`: the workload where it was read already. Throws
/// UsageError or InputError.
LoadedJob load_job(const JobArguments& arguments, const TypedLine& typed,
                   std::optional<LoadedWorkload> read = std::nullopt);

/// Replays today's step, where it was measured; warns where it cannot be this job's.
void replay_today(LoadedJob& loaded, Duration predicted);

/// Refuses options the PyTorch version lacks and workloads that cannot be simulated.
void require_simulatable(const LoadedJob& loaded);

}  // namespace ddpsim
