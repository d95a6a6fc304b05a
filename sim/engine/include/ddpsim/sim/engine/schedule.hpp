// A schedule is a program for every stream of every rank: what a training step asks of the machine,
// before any of it has a time. The reducer writes schedules; `execute` runs them. Other
// data-parallel schemes are other schedules over the same streams and collectives.
//
// A stream runs its operations in order, as a CUDA stream or a host thread does:
//   work        takes `duration` at full rate; longer while NCCL kernels take SMs from it
//   collective  this rank's kernel starts and waits for all ranks, then the transfer runs
//   record      marks an event as reached now
//   wait        goes on no sooner than the event's time plus `duration`
//   wait_until  goes on no sooner than `duration` after time zero
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

/// What an operation is for; decides to which part of the step its time is attributed.
enum class OperationKind : std::uint8_t {
  forward,
  buffer_copy,  ///< flatten and un-flatten around the buffer broadcast
  buffer_broadcast,
  rebuild,  ///< small blocking broadcasts of rebuild_buckets
  backward,
  copy_in,
  comm_hook,  ///< a communication hook's own kernels, and what it waits for on its host
  hook,
  launch,
  search_unused,
  all_reduce,
  local_used_map,
  copy_out,
  optimizer,
  sync_batch_norm,  ///< statistics exchanged in forward and backward
  model_averaging,  ///< behind the optimizer: a step's share of it
  all_gather,
  reduce_scatter,
  broadcast,
  pack,       ///< copies and casts around a scheme's collectives
  join,       ///< what ranks tell each other of their inputs
  host_copy,  ///< between a GPU and its host's memory, where a part of the model stays; waits for it
  host_step,  ///< an optimizer, or a sum of gradients, on the host
};
std::string_view name_of(OperationKind purpose);

using EventId = std::uint32_t;

struct Operation {
  Action action = Action::work;
  OperationKind purpose = OperationKind::forward;
  std::int32_t bucket = -1;      ///< label for timelines; -1: none
  Duration duration{};           ///< work at full rate; latency of a wait; instant of a wait_until
  EventId event = 0;             ///< record, wait
  std::uint32_t collective = 0;  ///< index into Schedule::collectives; of a wait: whose end
};

using Program = std::vector<Operation>;

struct RankPrograms {
  int rank = 0;  ///< lowest of the ranks that run these very programs
  Program host;
  Program compute;
  Program communication;  ///< collectives, each with what it waits for in front of it
  /// Streams of their own beside these: of other communicators, of copies and casts. As many on every rank.
  std::vector<Program> others;
  EventId events = 0;  ///< events are numbered per rank
};

/// Links a collective keeps busy, a bit a kind.
enum Links : std::uint8_t {
  kInsideNodes = 1,
  kBetweenNodes = 2,
  kAllLinks = 3,     ///< of ranks
  kToServers = 4,    ///< from workers to parameter servers …
  kFromServers = 8,  ///< … and back: links carry both ways at once
};

struct ScheduledCollective {
  Duration transfer;  ///< last arrival to end, at full rate and alone
  int channels = 0;   ///< SMs the kernel holds while it is resident
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size;
  Duration volume{};       ///< the part of `transfer` in which the links are busy with it
  double memory_load = 0;  ///< share of the GPU's memory bandwidth it takes while it transfers
  std::uint8_t links = kAllLinks;  ///< those it shares with collectives beside it
};

/// Collectives in flight beside each other. Those of one process group begin in program order, as many
/// at a time as it has threads; groups take turns: the k-th collective belongs to group k mod groups.
/// A collective ends no sooner than its `transfer` alone takes and no sooner than the links have moved
/// its `volume`; latencies of one hide behind the traffic of another.
struct InFlight {
  int groups = 1;      ///< communicators the reducer uses in turn
  int threads = 1;     ///< collectives one group runs at a time; each waits on a stream of its own
  double to_fill = 1;  ///< collectives that fill a link together: more share it fairly
  int lanes() const { return groups * threads; }
};

struct Schedule {
  /// When the first rank begins, counted from time zero, the start of rank 0's forward; not after it.
  TimePoint start;
  std::vector<RankPrograms> ranks;
  std::vector<ScheduledCollective> collectives;  ///< every rank takes part in every one
  InFlight in_flight;
};

/// How compute and NCCL kernels slow each other while both are on a GPU, as fractions of full
/// speed.
struct Rates {
  double compute_loss_per_channel =
      0;                             ///< compute runs at 1 - loss * channels of all kernels there
  double compute_loss_per_load = 0;  ///< and loses so much of its rate per memory_load of transfers
  double communication = 1;          ///< a transfer runs at this while compute runs beside it
};

struct OperationTime {
  TimePoint start;
  TimePoint end;
};

struct CollectiveTime {
  std::vector<TimePoint> starts;  ///< by position in Schedule::ranks
  TimePoint last_arrival;
  std::size_t last = 0;  ///< position of the last rank to arrive; the first of several
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

/// From the last arrival at a collective to its end, at full rate, when that is then; asked once for
/// each, in the order of time.
using TransferTime = std::function<Duration(std::uint32_t collective, TimePoint last_arrival)>;

/// Runs a schedule to its end. Every event waited for must be recorded, and every rank must reach
/// the collectives in one order: a schedule that cannot end is an internal error.
/// Transfers take what the schedule says unless `transfer_time` is given.
Execution execute(const Schedule& schedule, const Rates& rates,
                  const TransferTime& transfer_time = {});

}  // namespace ddpsim
