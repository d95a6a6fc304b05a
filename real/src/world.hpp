// The rank of this process in its job. The process was forked here, or started by torchrun, mpirun,
// srun or by hand. A process may also hold several ranks, with a thread for each. Then a launcher
// numbers processes instead of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ddpsim {

class JobMessage;

/// Most ranks of a job. A launcher may be given a larger number by mistake; rank 0 counts and names
/// the missing ranks.
inline constexpr int kMostRanksOfJob = 65536;

struct World {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  ///< on its host; chooses the GPU
  /// False: the ranks find it after they have connected.
  bool local_rank_known = true;
  bool launched = false;  ///< another program started its process
  /// For rank 0: the store runs in a separate process.
  bool served = false;
  int ranks_of_process = 1;        ///< ranks in its process
  int index_in_process = 0;        ///< its index among the ranks of its process
  std::string host = "127.0.0.1";  ///< host of rank 0
  std::uint16_t port = 0;
  /// Rank 0's socket if it was opened before the fork; otherwise -1.
  int listening = -1;
  std::string token;  ///< known only to this job's ranks
  /// Where the starting process looks for the reason of a failure.
  JobMessage* message = nullptr;
};

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, or the variables of Open MPI, PMI and Slurm, together with
/// MASTER_ADDR, MASTER_PORT (29500) and DDPSIM_JOB_TOKEN. Absent if none of them is set. Throws
/// JobEnded if they contradict each other.
std::optional<World> world_from_environment();

/// Runs `check` in a separate process and throws JobEnded with the error it threw. CUDA cannot be
/// used after a fork, so a process that will fork queries CUDA in this way.
void check_apart(const std::function<void()>& check);

/// Forks `processes` processes of `ranks_each` ranks and returns in each of them with its place in
/// the job. The parent never returns. It waits for them, ends all of them if one fails, and exits
/// with the status of the first failure.
World fork_processes(int processes, int ranks_each);

/// The ranks of a process. In `process`, rank and local rank count processes; in the result they
/// count ranks. Throws JobEnded if the job would have more than kMostRanksOfJob.
std::vector<World> ranks_of_process(const World& process, int ranks_each);
/// "rank 3" or "ranks 4 to 7".
std::string name_of_ranks(const std::vector<World>& ranks);

}  // namespace ddpsim
