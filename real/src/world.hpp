// Which rank of which job this process is: forked here, or started by torchrun, mpirun, srun or by
// hand. A process may also hold several ranks, a thread each: then what a launcher numbers are
// processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ddpsim {

class JobMessage;

/// The most ranks of a job. Launchers may be told of more by mistake; rank 0 counts and names those that are missing.
inline constexpr int kMostRanksOfJob = 65536;

struct World {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;              ///< among the ranks of this host: chooses the GPU
  bool local_rank_known = true;    ///< else ranks find it once they have met
  bool launched = false;           ///< its process was started by somebody else
  bool served = false;             ///< rank 0's: the store runs in a process of its own
  int ranks_of_process = 1;        ///< that its process holds …
  int index_in_process = 0;        ///< … and which of them it is
  std::string host = "127.0.0.1";  ///< where rank 0 is
  std::uint16_t port = 0;
  int listening = -1;             ///< rank 0's socket where it was opened before the fork; else -1
  std::string token;              ///< what only this job's ranks know
  JobMessage* message = nullptr;  ///< where the process that started it looks why it failed
};

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, or what Open MPI, PMI and Slurm set, with MASTER_ADDR,
/// MASTER_PORT (29500) and DDPSIM_JOB_TOKEN.
/// Absent where none of them is set. Throws JobEnded where they contradict each other.
std::optional<World> world_from_environment();

/// Runs `check` in a process of its own and throws JobEnded with what it threw. CUDA, once asked,
/// does not survive a fork:
/// whoever is to fork asks it so.
void check_apart(const std::function<void()>& check);

/// Forks `processes` processes of `ranks_each` ranks and returns in each of them with its place
/// among them. The parent never returns: it waits for them, ends them all where one failed, and
/// exits as the first that failed did.
World fork_processes(int processes, int ranks_each);

/// The ranks that a process holds: rank and local rank count processes in `process`, ranks in the
/// result. Throws JobEnded where the job would have more than kMostRanksOfJob.
std::vector<World> ranks_of_process(const World& process, int ranks_each);
/// "rank 3" or "ranks 4 to 7".
std::string name_of_ranks(const std::vector<World>& ranks);

}  // namespace ddpsim
