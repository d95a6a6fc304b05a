// What is asked of a job on the command line: WORKLOAD, CLUSTER and the options of both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend_arguments.hpp"
#include "cluster_arguments.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/traces/import.hpp"
#include "epoch_arguments.hpp"
#include "host_arguments.hpp"
#include "memory_arguments.hpp"
#include "typed_line.hpp"
#include "variation_arguments.hpp"

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
  NetworkModel network = NetworkModel::analytic;
  std::optional<std::string> background;
  std::optional<std::string> measured_step;
  std::optional<std::string> gpu;
  std::optional<std::string> compute_scale;
  Timing timing = Timing::recorded;
  bool no_trace_calibration = false;
  std::optional<std::int64_t> batch;
  std::optional<std::string> scheme;
  std::optional<std::string> data_loader;
  EpochArguments epoch;  ///< of simulate alone
  DdpArguments ddp;
  MemoryArguments memory;
  VariationArguments variation;
  HostArguments host;
  int iterations = 0;  ///< to be simulated; 0: the steady step
};

void add_job_options(CLI::App& command, JobArguments& arguments);

/// What was typed, as values. `typed`: what `arguments` were made of. Throws UsageError, also where parts contradict each
/// other; no file is read.
JobRequest job_request(const JobArguments& arguments, const TypedLine& typed);

/// "2.3", "2.3±0.2", "2.3+-0.2". Throws UsageError.
ComputeScale parse_compute_scale(const std::string& text);
/// "104ms", "9.6it/s"; FILE, FILE:KEY or FILE:KEY=UNIT. Throws UsageError or InputError.
MeasuredStepRequest parse_measured_step(const std::string& text);

/// --model and --timing, of every command that reads a trace.
void add_model_option(CLI::App& command, std::optional<std::string>& model);
void add_timing_option(CLI::App& command, Timing& timing);

}  // namespace ddpsim
