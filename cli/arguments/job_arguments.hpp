// A job on the command line: WORKLOAD, CLUSTER and the options of both.
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
  EpochArguments epoch;  ///< only in `simulate`
  DdpArguments ddp;
  MemoryArguments memory;
  VariationArguments variation;
  HostArguments host;
  /// Steps to simulate from the start of training; 0: only the steady step.
  int iterations = 0;
};

void add_job_options(CLI::App& command, JobArguments& arguments);

/// Parses the arguments without reading a file. `typed` is the line that they come from. Throws UsageError if a value is wrong or
/// two options contradict each other.
JobRequest job_request(const JobArguments& arguments, const TypedLine& typed);

/// Parses "2.3", "2.3±0.2" or "2.3+-0.2". Throws UsageError.
ComputeScale parse_compute_scale(const std::string& text);
/// Parses "104ms", "9.6it/s", FILE, FILE:KEY or FILE:KEY=UNIT. Throws UsageError or InputError.
MeasuredStepRequest parse_measured_step(const std::string& text);

/// Adds --model and --timing, which every command has that reads a trace.
void add_model_option(CLI::App& command, std::optional<std::string>& model);
void add_timing_option(CLI::App& command, Timing& timing);

}  // namespace ddpsim
