// Environment variables that decide how fast a job is. They come from `env` (one KEY=VALUE per
// line), or from what NCCL and torchrun say that they found or set.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

struct NcclFacts;

struct EnvironmentVariable {
  std::string name;
  std::string value;
  std::string place;  ///< "env.txt:3"
  /// NCCL printed it, so NCCL reads it.
  bool by_nccl = false;
};

struct EnvironmentFacts {
  /// Ordered by name, then value, because ranks may differ. Names that decide nothing are not kept.
  std::vector<EnvironmentVariable> variables;
  /// Number of KEY=VALUE lines. What is absent from a list was not set.
  std::size_t listed = 0;
  /// As the launcher says (LOCAL_WORLD_SIZE, Open MPI, Slurm).
  std::optional<int> ranks_per_node;
  /// Processors of a node (`lscpu`), or those that Slurm gave the job.
  std::optional<int> cores;
  /// Open MPI, MPICH or Slurm stated the number of ranks, so the number of threads is the user's
  /// choice.
  bool other_launcher = false;
  /// The smallest number that a rank may run on (Cpus_allowed_list).
  std::optional<int> allowed_cores;
  std::string allowed_place;
  /// Versions of torch, cuda, nccl, driver, python and kernel, from lines such as "torch=2.13.0";
  /// the first one read.
  std::map<std::string, EnvironmentVariable, std::less<>> versions;
  /// The collecting Python may be another one than the job's.
  bool versions_of_another_python = false;
  /// torchrun sets OMP_NUM_THREADS to 1 if nobody did.
  bool torchrun = false;

  /// The first value read. Absent if none was.
  const EnvironmentVariable* find(std::string_view name) const;
};

/// Takes one line: KEY=VALUE (also after "export"), "CPU(s): 64" of lscpu, "cores=64",
/// "Cpus_allowed_list=0-7", NCCL's "NCCL_ALGO set by environment to RING", or torchrun's message.
/// Returns false if the line is none of these.
bool take_environment_line(std::string_view line, const std::string& place,
                           EnvironmentFacts& facts);
/// Takes several settings KEY=VALUE that are separated by zero bytes, as in /proc/PID/environ.
void take_environment_block(std::string_view block, const std::string& place,
                            EnvironmentFacts& facts);

/// Values that cost time whatever was set before; a default value says nothing. What NCCL says
/// about the job (one node, one GPU per node) tells which of them can matter.
std::vector<Finding> environment_problems(const EnvironmentFacts& facts, const NcclFacts& nccl);
/// Variables whose value differs, including changes from and to absent if both sides list their
/// environment. Does not repeat what `environment_problems` says about the new side. `by_nccl`:
/// both sides' logs name every variable that NCCL read. `nccl`: what the old side's log says about
/// the job.
std::vector<Finding> environment_changes(const EnvironmentFacts& before,
                                         const EnvironmentFacts& after, const NcclFacts& nccl,
                                         bool by_nccl = false);
/// What is known about a variable's value for any job. Absent if it is not known to cost.
std::optional<Finding> costly_value(const EnvironmentVariable& variable);
/// Whether this value costs. Absent if no value of the variable is known to cost.
std::optional<bool> value_costs(std::string_view name, std::string_view value);

}  // namespace ddpsim
