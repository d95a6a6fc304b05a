// Ranks over MPI: the only code of ddpsim that calls MPI. An error in MPI ends the job, which is MPI's default.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "ranks.hpp"

namespace ddpsim {
namespace {

constexpr int kTag = 0;

/// Returns how many CPUs this process may use: its own, divided evenly among the ranks of this host that share any of them.
/// Launchers bind each rank to CPUs of its own, several ranks to the same CPUs, or none.
int cpus_left() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int ranks = 0;
  MPI_Comm_size(host, &ranks);
  cpu_set_t own;
  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof own, &own);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, host);
  MPI_Comm_free(&host);
  const auto sharing = std::ranges::count_if(all, [&](const cpu_set_t& other) {
    cpu_set_t both;
    CPU_AND(&both, &own, &other);
    return CPU_COUNT(&both) > 0;
  });
  return std::max(1, CPU_COUNT(&own) / std::max(1, static_cast<int>(sharing)));
}

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    // Only this thread calls MPI. Every MPI supports that, so the result is not checked.
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    cpus_ = cpus_left();
  }
  ~MpiRanks() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int cpus() const override { return cpus_; }

  std::string host() const override {
    std::string name(MPI_MAX_PROCESSOR_NAME, '\0');
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    name.resize(static_cast<std::size_t>(length));
    return name;
  }

  void send(int to, std::string_view text) override {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  }

  std::optional<RankMessage> receive() override {
    int here = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &here, &status);
    if (here == 0) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    RankMessage message{.from = status.MPI_SOURCE,
                        .text = std::string(static_cast<std::size_t>(bytes), '\0')};
    MPI_Recv(message.text.data(), bytes, MPI_BYTE, message.from, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return message;
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  int cpus_ = 1;
};

}  // namespace
}  // namespace ddpsim

extern "C" ddpsim::Ranks* ddpsim_join_ranks() {
  return new ddpsim::MpiRanks;
}
