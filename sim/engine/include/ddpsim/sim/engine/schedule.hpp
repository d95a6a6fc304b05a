// A schedule is a program for every stream of every rank: what a training step asks of the machine,
// before anything has a time. The reducer writes schedules, and `execute` runs them. Other
// data-parallel schemes are other schedules over the same streams and collectives.
//
// A stream runs its operations in order, as a CUDA stream or a host thread does:
//
// - work         takes `duration` at full rate, longer while NCCL kernels take SMs from it
// - collective   starts this rank's kernel, waits for all ranks, then transfers
// - record       marks an event as reached now
// - wait         continues at the event's time plus `duration` at the earliest
// - wait_until   continues at time zero plus `duration` at the earliest
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

enum class Action : std::uint8_t { work, collective, record, wait, wait_until };

/// The purpose of an operation. It decides to which part of the step the time is attributed.
enum class OperationKind : std::uint8_t {
  forward,
  buffer_copy,  ///< flatten and un-flatten for the buffer broadcast
  buffer_broadcast,
  rebuild,  ///< small blocking broadcasts of rebuild_buckets
  backward,
  copy_in,
  /// Kernels of a communication hook, and its waits for its host.
  comm_hook,
  hook,
  launch,
  search_unused,
  all_reduce,
  local_used_map,
  copy_out,
  optimizer,
  sync_batch_norm,  ///< statistics exchanged in forward and backward
  model_averaging,  ///< after the optimizer: one step's share
  all_gather,
  reduce_scatter,
  broadcast,
  pack,  ///< copies and casts for collectives
  join,  ///< what ranks tell each other of their inputs
  /// Copies between a GPU and its host's memory, if a part of the model stays there, and waits for
  /// them.
  host_copy,
  /// An optimizer, or a sum of gradients, on the host.
  host_step,
};
std::string_view name_of(OperationKind purpose);

using EventId = std::uint32_t;

struct Operation {
  Action action = Action::work;
  OperationKind purpose = OperationKind::forward;
  std::int32_t bucket = -1;  ///< label for timelines; -1: none
  /// Work at full rate, latency of a wait, or instant of a wait_until.
  Duration duration{};
  EventId event = 0;  ///< of record and wait
  /// Index into Schedule::collectives. For a wait, the collective whose end it waits for.
  std::uint32_t collective = 0;
};

/// Whether the operation makes the compute stream wait until the host has launched kernels of the
/// model. The wait until a rank's start does not count, although its purpose is forward.
inline bool waits_for_launch(const Operation& operation) {
  const OperationKind purpose = operation.purpose;
  if (operation.action == Action::wait_until) return purpose == OperationKind::backward;
  return operation.action == Action::wait &&
         (purpose == OperationKind::forward || purpose == OperationKind::backward ||
          purpose == OperationKind::optimizer);
}

using Program = std::vector<Operation>;

struct RankPrograms {
  /// Lowest of the ranks that run these programs.
  int rank = 0;
  Program host;
  Program compute;
  /// Collectives, each preceded by what it waits for.
  Program communication;
  /// Further streams, for other communicators and for copies and casts. Every rank has the same
  /// number.
  std::vector<Program> others;
  EventId events = 0;  ///< events are numbered per rank
};

/// Kinds of links that a collective keeps busy, one bit each.
enum Links : std::uint8_t {
  kInsideNodes = 1,
  kBetweenNodes = 2,
  kAllLinks = 3,   ///< between ranks
  kToServers = 4,  ///< from workers to parameter servers
  /// From servers to workers. Links carry both directions at once.
  kFromServers = 8,
};

struct ScheduledCollective {
  /// From the last arrival to the end, at full rate and alone.
  Duration transfer;
  int channels = 0;  ///< SMs that the resident kernel holds
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size;
  /// The part of `transfer` in which it keeps the links busy.
  Duration volume{};
  /// Share of the GPU's memory bandwidth that the transfer takes.
  double memory_load = 0;
  /// Links that it shares with concurrent collectives.
  std::uint8_t links = kAllLinks;
};

/// How many collectives may be in flight at the same time. Those of one process group begin in
/// program order, up to the number of its threads at a time. Groups take turns: the k-th collective
/// belongs to group k mod groups.
///
/// A collective ends no sooner than its `transfer` alone takes, and no sooner than the links have
/// moved its `volume`. The latencies of one hide behind the traffic of another.
struct InFlight {
  int groups = 1;  ///< communicators that the reducer uses in turn
  /// Collectives that one group runs at a time. Each waits on a stream of its own.
  int threads = 1;
  /// Collectives that fill a link together. More than these share it fairly.
  double to_fill = 1;
  int lanes() const { return groups * threads; }
};

struct Schedule {
  /// When the first rank begins. Time zero is the start of rank 0's forward, so this is zero or
  /// negative.
  TimePoint start;
  std::vector<RankPrograms> ranks;
  std::vector<ScheduledCollective> collectives;  ///< every rank takes part in each
  InFlight in_flight;
};

/// How compute and NCCL kernels slow each other while both are on a GPU, as shares of full speed.
struct Rates {
  /// Compute runs at 1 - loss * channels, for the channels of all resident kernels.
  double compute_loss_per_channel = 0;
  /// Further loss of compute per memory_load of the running transfers.
  double compute_loss_per_load = 0;
  /// Rate of a transfer while compute runs.
  double communication = 1;
};

struct OperationTime {
  TimePoint start;
  TimePoint end;
};

struct CollectiveTime {
  /// Indexed by position in Schedule::ranks.
  std::vector<TimePoint> starts;
  TimePoint last_arrival;
  /// Position of the rank that arrives last. If several do, the first of them.
  std::size_t last = 0;
  TimePoint end;
};

struct Execution {
  struct Rank {
    std::vector<OperationTime> host;
    std::vector<OperationTime> compute;
    std::vector<OperationTime> communication;
    std::vector<std::vector<OperationTime>> others;
  };
  std::vector<Rank> ranks;
  std::vector<CollectiveTime> collectives;
  std::uint64_t events = 0;
};

/// Time from the last arrival at a collective to its end, at full rate, given the time of that
/// arrival. Called once for each collective, in the order of time.
using TransferTime = std::function<Duration(std::uint32_t collective, TimePoint last_arrival)>;

/// Runs a schedule to its end. Every event that is waited for must be recorded, and every rank must
/// reach the collectives in the same order: a schedule that cannot end is an internal error.
/// Transfers take the schedule's times unless `transfer_time` is given.
Execution execute(const Schedule& schedule, const Rates& rates,
                  const TransferTime& transfer_time = {});

}  // namespace ddpsim
