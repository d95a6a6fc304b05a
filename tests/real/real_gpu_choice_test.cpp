// Slurm, mpirun and torchrun show GPUs in different ways. These tests check which GPU a rank takes.
#include <doctest/doctest.h>

#include <cstdlib>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu_choice.hpp"
#include "hosts.hpp"
#include "patience.hpp"

using namespace ddpsim;
using ddpsim::testing::patient;
using namespace std::chrono_literals;

namespace {

World launched(int local_rank) {
  return {.rank = local_rank, .ranks = 8, .local_rank = local_rank, .launched = true, .token = ""};
}

/// Sets only this launcher's environment until the end of the test.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
          "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
          "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE", "DDPSIM_JOB_TOKEN"}) {
      const char* text = std::getenv(name);
      if (text != nullptr) before_[name] = text;
      unsetenv(name);
    }
    for (const auto& [name, text] : variables) setenv(name.c_str(), text.c_str(), 1);
    set_ = variables;
  }
  ~Environment() {
    for (const auto& [name, text] : set_) unsetenv(name.c_str());
    for (const auto& [name, text] : before_) setenv(name.c_str(), text.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::string> before_;
  std::map<std::string, std::string> set_;
};

}  // namespace

TEST_CASE("real gpu choice: values from the launcher, and values that must be found") {
  {
    const Environment none({});
    CHECK_FALSE(world_from_environment());
  }
  {
    const Environment by_hand({{"RANK", "1"},
                               {"WORLD_SIZE", "2"},
                               {"DDPSIM_JOB_TOKEN", "known"},
                               {"MASTER_ADDR", "::1"}});
    const std::optional<World> world = world_from_environment();
    REQUIRE(world);
    CHECK_FALSE(world->local_rank_known);
    CHECK(world->launched);
    CHECK(world->token == "known");
    CHECK(world->host == "::1");
  }
  {
    // In a batch script without srun, sbatch --ntasks 8 sets the script's own variables.
    const Environment batch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}});
    CHECK_FALSE(world_from_environment());
  }
  const Environment slurm(
      {{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}});
  const std::optional<World> world = world_from_environment();
  REQUIRE(world);
  CHECK(world->local_rank_known);
  CHECK(world->local_rank == 1);
  CHECK(world->token == "");
}

TEST_CASE("real gpu choice: if all GPUs of a host are visible, a rank takes its local rank's") {
  for (int local = 0; local < 8; ++local) {
    const GpuChoice choice = choose_gpu(launched(local), 8, false);
    CHECK(choice.problem == "");
    CHECK(choice.gpu == local);
  }
}

TEST_CASE("real gpu choice: a task with one visible GPU takes it for any local rank") {
  for (int local = 0; local < 8; ++local) {
    const GpuChoice choice = choose_gpu(launched(local), 1, false);
    CHECK(choice.problem == "");
    CHECK(choice.gpu == 0);
  }
}

TEST_CASE("real gpu choice: a process with as many visible GPUs as ranks takes them all") {
  const std::vector<World> ranks = ranks_of_process(launched(1), 4);  // local ranks 4 to 7
  for (int i = 0; i < 4; ++i) {
    CHECK(choose_gpu(ranks[static_cast<std::size_t>(i)], 4, false).gpu == i);
    CHECK(choose_gpu(ranks[static_cast<std::size_t>(i)], 4, false).problem == "");
    CHECK(choose_gpu(ranks[static_cast<std::size_t>(i)], 8, false).gpu == 4 + i);
  }
  CHECK(choose_gpu(ranks[0], 1, false).problem != "");
}

TEST_CASE(
    "real gpu choice: forked ranks share this process's GPUs, so two ranks cannot own one GPU") {
  CHECK(choose_gpu({.rank = 1, .ranks = 2, .local_rank = 1, .token = ""}, 1, false).problem ==
        "local rank 1 has no GPU of its own: its process sees 1");
}

TEST_CASE("real gpu choice: ranks that may share GPUs take visible ones in turn") {
  for (int local = 0; local < 4; ++local) {
    const GpuChoice choice =
        choose_gpu({.rank = local, .ranks = 4, .local_rank = local, .token = ""}, 2, true);
    CHECK(choice.problem == "");
    CHECK(choice.gpu == local % 2);
  }
  CHECK(choose_gpu(launched(0), 0, true).problem != "");
}

TEST_CASE("real gpu choice: NCCL's variable decides whether ranks may share GPUs") {
  CHECK_FALSE(ranks_may_share_gpus());
  for (const auto& [text, shared] :
       std::map<std::string, bool>{{"0", false}, {"1", true}, {"no", false}}) {
    const Environment set({{"NCCL_MULTI_RANK_GPU_ENABLE", text}});
    CHECK(ranks_may_share_gpus() == shared);
  }
}

TEST_CASE(
    "real gpu choice: refuses fewer GPUs than local ranks and says how to make them visible") {
  const std::string problem = choose_gpu(launched(2), 2, false).problem;
  CHECK(problem.starts_with("local rank 2 has no GPU of its own: its process sees 2. "));
  CHECK(problem.find("--gpus-per-task=1") != std::string::npos);
  CHECK(choose_gpu(launched(0), 0, false).problem != "");
}

TEST_CASE("real gpu choice: a missing local rank is derived from the ranks of the host") {
  World unknown = launched(0);
  unknown.local_rank_known = false;
  CHECK(choose_gpu(unknown, 2, false).problem == "");

  const std::vector<std::string> hosts = {"a", "b", "a", "b", "a"};
  const int ranks = static_cast<int>(hosts.size());
  const Listening listening = listen_on("127.0.0.1", 0);
  const StoreServer server(listening, ranks, patient(30s));
  std::vector<std::future<int>> local;
  for (int rank = 0; rank < ranks; ++rank)
    local.push_back(std::async(std::launch::async, [&, rank] {
      const std::string& host = hosts[static_cast<std::size_t>(rank)];
      StoreClient store("127.0.0.1", listening.port,
                        {.rank = rank, .ranks = ranks, .version = "", .job = "", .token = ""},
                        patient(30s));
      tell_host(store, rank, host);
      CHECK(on_host_of_rank_0(store, host) == (host == "a"));
      const int found = local_rank_among(store, rank, host);
      store.barrier("done");
      store.leave();
      return found;
    }));
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(local[static_cast<std::size_t>(rank)].get() == rank / 2);
}
