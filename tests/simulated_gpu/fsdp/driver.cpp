// Trains a job (job.hpp) with the calls that PyTorch's FSDP makes. Ranks are threads of this
// process with one GPU each, and need only the CUDA runtime and NCCL:
//
//     fsdp_driver JOB [--spans]
//
// Reports whether the final parameters are correct (exit code 1 if not) and the peak memory of each
// rank. With --spans, it also prints the spans of the last step: RANK WHAT UNIT START END, in
// microseconds.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "trainer.hpp"

namespace fsdp {
namespace {

/// Tolerated relative error. A type holds the sums of small whole numbers inexactly.
double tolerated(const Job& job) {
  const bool halves = job.param_type != DDPSIM_FLOAT32 || job.reduce_type != DDPSIM_FLOAT32;
  constexpr double kHalf = 0.02;
  constexpr double kSingle = 1e-5;
  return (halves ? kHalf : kSingle) * job.steps;
}

struct Outcome {
  double worst_error = 0;
  std::int64_t most_bytes = 0;
  std::vector<Span> spans;
};

struct Ids {
  std::vector<ncclUniqueId> shards;    ///< one for each group
  std::vector<ncclUniqueId> replicas;  ///< one for each place in a group
};

Ids make_ids(const Job& job) {
  Ids ids{.shards = std::vector<ncclUniqueId>(static_cast<std::size_t>(job.replicas())),
          .replicas = std::vector<ncclUniqueId>(static_cast<std::size_t>(job.group))};
  for (ncclUniqueId& id : ids.shards) require(ncclGetUniqueId(&id), "making NCCL's id");
  for (ncclUniqueId& id : ids.replicas) require(ncclGetUniqueId(&id), "making NCCL's id");
  return ids;
}

Outcome run_rank(const Job& job, int rank, const Ids& ids, bool timed) {
  require(cudaSetDevice(rank), "choosing a GPU");
  const int group = rank / job.group;
  const int place = rank % job.group;
  Communicators communicators;
  if (job.group > 1)
    require(ncclCommInitRank(&communicators.shards, job.group,
                             ids.shards[static_cast<std::size_t>(group)], place),
            "joining a communicator");
  if (job.replicas() > 1)
    require(ncclCommInitRank(&communicators.replicas, job.replicas(),
                             ids.replicas[static_cast<std::size_t>(place)], group),
            "joining a communicator");
  const bool by_parameter = job.scheme == Scheme::fsdp2;
  Rank own(job, rank, communicators, by_parameter);
  const std::unique_ptr<Trainer> trainer = by_parameter ? make_fsdp2(own) : make_fsdp1(own);
  own.train([&] { trainer->step(); }, timed);
  return {own.worst_error(), own.memory().most_in_use(), own.spans()};
}

int run(const Job& job, bool timed) {
  const Ids ids = make_ids(job);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(job.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < job.ranks; ++rank)
    threads.emplace_back(
        [&, rank] { outcomes[static_cast<std::size_t>(rank)] = run_rank(job, rank, ids, timed); });
  for (std::thread& thread : threads) thread.join();
  int status = 0;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    if (!(outcome.worst_error <= tolerated(job))) {
      std::fprintf(stderr, "rank %d: the relative error of a parameter is %g\n", rank,
                   outcome.worst_error);
      status = 1;
    }
    std::printf("rank %d most_bytes %ld\n", rank, static_cast<long>(outcome.most_bytes));
    for (const Span& span : outcome.spans)
      std::printf("span %d %s|%s|%.4f|%.4f\n", rank, span.what.c_str(), span.unit.c_str(),
                  span.start_us, span.end_us);
  }
  return status;
}

}  // namespace
}  // namespace fsdp

int main(int count, char** words) {
  constexpr int kUsage = 2;
  constexpr int kBadInput = 3;
  const bool timed = count == 3 && std::strcmp(words[2], "--spans") == 0;
  if (count != 2 && !timed) {
    std::fprintf(stderr, "fsdp_driver JOB [--spans]\n");
    return kUsage;
  }
  const fsdp::Job job = fsdp::read_job(words[1]);
  const std::string refused =
      job.scheme == fsdp::Scheme::fsdp1 ? fsdp::refused_by_fsdp1(job) : fsdp::refused_by_fsdp2(job);
  if (!refused.empty()) {
    std::fprintf(stderr, "%s: %s\n", words[1], refused.c_str());
    return kBadInput;
  }
  return fsdp::run(job, timed);
}
