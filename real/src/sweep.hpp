// One rank's part of a sweep: meet the others, run every configuration, send what was measured to
// rank 0, which writes it.
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
  std::vector<Bytes> all_reduce_sizes;  ///< measured first
  int warmup = 3;
  int iterations = 9;
  int all_reduce_repetitions = 15;
  bool check = true;  ///< a further step of each configuration, whose averages are looked at
  bool busy_compute = false;
  int ranks_per_process = 1;  ///< how, not what: ranks that differ in it meet all the same
  std::chrono::milliseconds timeout{60'000};
  std::filesystem::path output;  ///< folder; empty: nothing is written
  std::string command;           ///< to repeat it
  std::string digest;            ///< of all above that ranks must share
};

/// The file of a configuration's timeline, in the folder of the sweep.
std::string timeline_name(const std::string& configuration);

/// What all ranks must agree on, as a number in text.
std::string digest_of(const Sweep& sweep);

/// Throws JobEnded, PeerLost, Unavailable, std::runtime_error (the disk). What is returned is
/// complete on rank 0.
Measurement run_sweep(const Sweep& sweep, const World& world);

}  // namespace ddpsim
