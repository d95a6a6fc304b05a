// Environment variables that decide how fast a job is, as `env` lists them (KEY=VALUE, one a line) or as NCCL and
// torchrun say themselves that they found or set them.
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
  std::string place;     ///< "env.txt:3"
  bool by_nccl = false;  ///< NCCL printed it, so it is one that NCCL reads
};

struct EnvironmentFacts {
  /// By name, then value: ranks may differ. Names that decide nothing are not kept.
  std::vector<EnvironmentVariable> variables;
  std::size_t listed = 0;  ///< lines KEY=VALUE among them: what is absent of a list was not set
  std::optional<int> ranks_per_node;  ///< as the launcher says (LOCAL_WORLD_SIZE, Open MPI, Slurm)
  std::optional<int> cores;  ///< processors of a node (`lscpu`), or those that Slurm gave the job
  bool other_launcher =
      false;  ///< Open MPI, MPICH or Slurm said how many ranks: threads are its user's choice
  std::optional<int> allowed_cores;  ///< the fewest that a rank may run on (Cpus_allowed_list)
  std::string allowed_place;
  /// "torch=2.13.0": of torch, cuda, nccl, driver, python, kernel; the first read.
  std::map<std::string, EnvironmentVariable, std::less<>> versions;
  bool versions_of_another_python =
      false;              ///< whoever collected them ran another than the job's, perhaps
  bool torchrun = false;  ///< which sets OMP_NUM_THREADS to 1 where nobody did

  /// The first value read; absent where none was.
  const EnvironmentVariable* find(std::string_view name) const;
};

/// Takes KEY=VALUE ("export" in front is fine), "CPU(s): 64" of lscpu, "cores=64" and "Cpus_allowed_list=0-7", what NCCL found ("NCCL_ALGO set by environment
/// to RING") and torchrun's words. False: the line is none of these.
bool take_environment_line(std::string_view line, const std::string& place,
                           EnvironmentFacts& facts);
/// The same of settings that zero bytes separate, as /proc/PID/environ has them.
void take_environment_block(std::string_view block, const std::string& place,
                            EnvironmentFacts& facts);

/// Values that cost time whatever was before; a value that is the default says nothing. What NCCL says of the job (one
/// node, one GPU a node) tells which of them can matter.
std::vector<Finding> environment_problems(const EnvironmentFacts& facts, const NcclFacts& nccl);
/// Variables whose value is another, also from and to absent where both sides list their environment. What
/// `environment_problems` says of the new side is not said twice.
/// `by_nccl`: both sides' logs name every variable that NCCL read. `nccl`: what the old side's log says of the job.
std::vector<Finding> environment_changes(const EnvironmentFacts& before,
                                         const EnvironmentFacts& after, const NcclFacts& nccl,
                                         bool by_nccl = false);
/// What is known of a variable's value whatever the job is; nothing where it is not known to cost.
std::optional<Finding> costly_value(const EnvironmentVariable& variable);
/// Whether this value costs; absent where no value of that variable is known to cost.
std::optional<bool> value_costs(std::string_view name, std::string_view value);

}  // namespace ddpsim
