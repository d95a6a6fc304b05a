// Environment variables in which MPI launchers tell a process its rank.
#pragma once

#include <array>

namespace ddpsim {

struct LauncherVariables {
  const char* rank;
  const char* ranks;
  const char* local_rank;  ///< within its host
  /// Whether the rank is also set without a launch. Slurm sets rank 0 in batch scripts, which run in no step.
  bool rank_alone_says_nothing = false;
};

/// The variables of Open MPI, MPICH, Intel MPI and srun. Slurm's variables describe a job step.
inline constexpr std::array kMpiLaunchers = {
    LauncherVariables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    LauncherVariables{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},  // MPICH, Intel MPI
    LauncherVariables{.rank = "SLURM_PROCID",
                      .ranks = "SLURM_STEP_NUM_TASKS",
                      .local_rank = "SLURM_LOCALID",
                      .rank_alone_says_nothing = true},
};

}  // namespace ddpsim
