#include "faults.hpp"

#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "machine.hpp"
#include "scheduler.hpp"

namespace simulated_gpu {
namespace {

constexpr int kNoRank = -1;
thread_local int rank_of_this_thread = kNoRank;

struct KindName {
  FaultKind kind;
  const char* name;
};
constexpr KindName kNames[] = {
    {FaultKind::die, "die"},         {FaultKind::init, "init"},     {FaultKind::async, "async"},
    {FaultKind::error, "error"},     {FaultKind::sticky, "sticky"}, {FaultKind::memory, "memory"},
    {FaultKind::silence, "silence"}, {FaultKind::slow, "slow"},
};

bool comes_here(FaultKind kind, int rank) {
  const Fault& fault = machine().settings.fault;
  return fault.kind == kind && fault.rank == rank && machine().fault_time == kNever;
}

void strike() {
  Machine& m = machine();
  m.fault_time = now_ns();
  m.launched_at_fault = m.communicators[0].launched[m.settings.fault.rank];
}

}  // namespace

std::optional<Fault> fault_of(const std::string& text) {
  char name[16] = "";
  Fault fault;
  long at = 0;
  if (std::sscanf(text.c_str(), "%15[^:]:%d:%ld", name, &fault.rank, &at) != 3) return {};
  fault.at = at;
  const auto* const found =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const auto& one) { return std::strcmp(one.name, name) == 0; });
  if (found == std::end(kNames) || fault.rank < 0 || fault.rank >= kRanks) return {};
  fault.kind = found->kind;
  return fault;
}

std::string text_of(const Fault& fault) {
  for (const KindName& one : kNames)
    if (one.kind == fault.kind)
      return std::string(one.name) + ":" + std::to_string(fault.rank) + ":" +
             std::to_string(fault.at);
  return "none";
}

FaultCounts counts_of(int rank) {
  const Machine& m = machine();
  return {m.calls[rank], m.allocations[rank], m.communicators[0].launched[rank]};
}

Fault draw_fault(std::span<const FaultCounts> counts) {
  Fault fault;
  fault.kind = kNames[draw(std::size(kNames))].kind;
  fault.rank = static_cast<int>(draw(counts.size()));
  const FaultCounts& most = counts[static_cast<std::size_t>(fault.rank)];
  const auto below = [](std::int64_t bound) {
    return static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(bound)));
  };
  constexpr std::int64_t kMostSlowness = 20;
  switch (fault.kind) {
    case FaultKind::async:
    case FaultKind::silence:
      fault.at = below(most.collectives);
      break;
    case FaultKind::memory:
      fault.at = below(most.allocations);
      break;
    case FaultKind::slow:
      fault.at = 2 + below(kMostSlowness - 1);
      break;
    case FaultKind::init:
      break;
    default:
      fault.at = below(most.calls);
  }
  return fault;
}

void calls_are_of(int rank) {
  rank_of_this_thread = rank;
}

void note_call() {
  if (rank_of_this_thread == kNoRank) return;
  const std::int64_t number = machine().calls[rank_of_this_thread]++;
  if (!comes_here(FaultKind::die, rank_of_this_thread) || number < machine().settings.fault.at)
    return;
  strike();
  die();
}

cudaError_t error_at_this_call(cudaError_t& sticky) {
  const int rank = rank_of_this_thread;
  if (rank == kNoRank || machine().calls[rank] <= machine().settings.fault.at) return cudaSuccess;
  if (comes_here(FaultKind::error, rank)) {
    strike();
    return cudaErrorLaunchOutOfResources;
  }
  if (!comes_here(FaultKind::sticky, rank)) return cudaSuccess;
  strike();
  return sticky = cudaErrorLaunchFailure;
}

bool no_memory_at_this_allocation() {
  const int rank = rank_of_this_thread;
  if (rank == kNoRank) return false;
  const std::int64_t number = machine().allocations[rank]++;
  if (!comes_here(FaultKind::memory, rank) || number < machine().settings.fault.at) return false;
  strike();
  return true;
}

void note_collective(Communicator& communicator, Collective& collective, int rank,
                     std::int64_t sequence) {
  const bool breaks = comes_here(FaultKind::async, rank);
  if ((!breaks && !comes_here(FaultKind::silence, rank)) || sequence < machine().settings.fault.at)
    return;
  strike();
  collective.lost = true;
  if (breaks) communicator.async_error[rank] = ncclRemoteError;
}

bool never_joins(int rank) {
  if (!comes_here(FaultKind::init, rank)) return false;
  strike();
  return true;
}

std::int64_t slowness_of_host() {
  return rank_of_this_thread == kNoRank ? 1 : slowness_of_device(rank_of_this_thread);
}

std::int64_t slowness_of_device(int device) {
  const Fault& fault = machine().settings.fault;
  return fault.kind == FaultKind::slow && fault.rank == device ? fault.at : 1;
}

}  // namespace simulated_gpu
