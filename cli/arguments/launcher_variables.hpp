// What launchers tell a process of its place among those they started.
#pragma once

#include <array>

namespace ddpsim {

struct LauncherVariables {
  const char* rank;
  const char* ranks;
  const char* local_rank;  ///< among those of its host
  /// Where nothing was launched the rank is set, too: Slurm's batch scripts are rank 0 of no step.
  bool rank_alone_says_nothing = false;
};

/// Of launchers that know of MPI; Slurm's are those of a step, as srun makes one.
inline constexpr std::array kMpiLaunchers = {
    LauncherVariables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    LauncherVariables{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},  // MPICH, Intel MPI
    LauncherVariables{.rank = "SLURM_PROCID",
                      .ranks = "SLURM_STEP_NUM_TASKS",
                      .local_rank = "SLURM_LOCALID",
                      .rank_alone_says_nothing = true},
};

}  // namespace ddpsim
