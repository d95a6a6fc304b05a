// One rank's part of a sweep. It connects to the others, runs every configuration, and sends the
// measurements to rank 0, which writes them.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "ddpsim/reports/measurement.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "reducer_options.hpp"
#include "world.hpp"

namespace ddpsim {

struct Configuration {
  std::string name;  ///< also names its timeline: no slashes
  ReducerOptions options;
};

struct Sweep {
  Workload workload;
  std::string backend;
  std::vector<Configuration> configurations;
  std::vector<Bytes> all_reduce_sizes;  ///< measured before the configurations
  int warmup = 3;
  int iterations = 9;
  int all_reduce_repetitions = 15;
  /// Whether to run one more step of each configuration and check its averaged gradients.
  bool check = true;
  bool busy_compute = false;
  /// Ranks may differ in this, because it does not change the job.
  int ranks_per_process = 1;
  std::chrono::milliseconds timeout{60'000};
  std::filesystem::path output;  ///< folder; empty: nothing is written
  std::string command;           ///< command line that repeats the sweep
  std::string digest;            ///< digest of everything that ranks must share
};

/// File name of a configuration's timeline in the sweep's folder.
std::string timeline_name(const std::string& configuration);

/// Digest, as text, of everything that ranks must agree on.
std::string digest_of(const Sweep& sweep);

/// Throws JobEnded, PeerLost, Unavailable, or std::runtime_error (disk). The result is complete
/// only on rank 0.
Measurement run_sweep(const Sweep& sweep, const World& world);

}  // namespace ddpsim
