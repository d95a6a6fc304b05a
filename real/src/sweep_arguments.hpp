// Options of ddpsim-real, the sweep that they describe, and the checks that are possible before any
// rank starts.
#pragma once

#include <optional>
#include <string>

#include "ddp_arguments.hpp"
#include "sweep.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct SweepArguments {
  std::string workload;
  std::string backend = "cpu-gloo";
  std::optional<int> ranks;
  int ranks_per_process = 1;
  std::optional<std::string> caps;
  std::string views = "no";
  std::optional<std::string> all_reduce;
  std::string output;
  int warmup = 3;
  int iterations = 9;
  int timeout_s = 60;
  bool busy = false;
  bool check = true;
  bool json = false;
  bool csv = false;
  DdpArguments ddp;
};

void add_options(CLI::App& app, SweepArguments& arguments);

/// Throws Unavailable if this build lacks the backend, and UsageError if there is no backend of
/// that name.
void require_backend(const std::string& name);
/// Throws UsageError and InputError. `command` is the command line as typed.
Sweep sweep_of(const SweepArguments& arguments, std::string command);
/// Checks everything that is possible before any rank starts. Throws UsageError.
void require_possible(const Sweep& sweep);

}  // namespace ddpsim
