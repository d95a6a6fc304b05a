// Contents of streams, as plain data that any process can use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fsdp_kernels {
struct ParameterPlace;
}

namespace simulated_gpu {

struct Range {
  std::byte* begin;
  std::int64_t bytes;
  bool meets(const Range& other) const {
    return bytes > 0 && other.bytes > 0 && begin < other.begin + other.bytes &&
           other.begin < begin + bytes;
  }
};

enum class Kind { kernel, copy, set, record, wait, collective };
enum class Phase { queued, due, running };

struct KernelCall {
  int kernel;  ///< index in the table of kernels.cpp
  std::int64_t elements;
  double value;
  const std::byte* from;
  std::byte* to;
  // Arguments of the FSDP driver's kernels.
  std::int64_t nanoseconds;
  const fsdp_kernels::ParameterPlace* places;
  std::int64_t count;
  std::int64_t ranks;
};

struct Operation {
  Kind kind;
  Phase phase;
  std::int64_t enqueued;
  std::int64_t begin;
  std::int64_t end;
  /// Arguments of a kernel. Copies and sets use from, to and value.
  KernelCall call;
  int event;               ///< event of record and wait
  std::int64_t recording;  ///< the recording of that event
  int communicator;        ///< communicator of a collective
  int rank;
  std::int64_t sequence;
  int stream;  ///< stream of a collective
  Range reads;
  Range writes;
  std::int64_t moved_bytes;    ///< bytes read and written
  bool slowed_by_collectives;  ///< slowed by collectives on its device
  std::byte* result;           ///< output, visible at the end
  /// Another operation wrote memory that it was reading or writing.
  bool torn;
  void* caller;  ///< caller that launched it
};

/// Free blocks by power of two, in a growing region.
struct Memory {
  static constexpr int kClasses = 48;
  std::int64_t used;
  std::byte* free[kClasses];
};

enum class CollectiveKind { all_reduce, broadcast, all_gather, reduce_scatter, reduce };

/// One collective of a communicator, with the values that all ranks must request alike.
struct Collective {
  bool known;
  CollectiveKind kind;
  int root;
  int dtype;
  bool averages;  ///< inputs are divided by the number of ranks
  /// The larger of a rank's whole input and whole output.
  std::int64_t bytes;
  int arrived;
  int finished;
  bool torn;
  bool lost;  ///< a fault; the collective never ends
  std::byte* given[16];
  std::byte* result;
};

struct Communicator {
  std::int64_t id;
  int ranks;
  std::int64_t joined;
  int devices[16];  ///< physical device of each rank, counted from 1
  bool aborted[16];
  int async_error[16];
  std::int64_t launched[16];
  // A rank's collectives run in launch order, from any stream (NCCL's enqueue.cc has an event
  // between two streams). These are the number that ended, the stream of the last one, and its end.
  std::int64_t ended[16];
  int ended_on[16];
  std::int64_t ended_at[16];
  static constexpr int kInFlight = 1024;
  Collective collectives[kInFlight];  ///< collective i is at i % kInFlight
};

}  // namespace simulated_gpu
