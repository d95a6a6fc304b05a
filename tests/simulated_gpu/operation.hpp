// What streams hold, in plain data that any process can work on.
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
  int kernel;  ///< index of kernels.cpp's table
  std::int64_t elements;
  double value;
  const std::byte* from;
  std::byte* to;
  // Of the FSDP driver's.
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
  KernelCall call;         ///< of a kernel; from, to and value of copies and sets
  int event;               ///< of record and wait …
  std::int64_t recording;  ///< … and which of its recordings
  int communicator;        ///< of a collective …
  int rank;
  std::int64_t sequence;
  int stream;  ///< … and where it was launched
  Range reads;
  Range writes;
  std::int64_t moved_bytes;    ///< read and written
  bool slowed_by_collectives;  ///< that run on its device
  std::byte* result;           ///< what becomes visible at the end
  bool torn;                   ///< somebody wrote what it was reading, or where it was writing
  void* caller;                ///< who launched it
};

/// Free blocks by power of two, of a region that grows.
struct Memory {
  static constexpr int kClasses = 48;
  std::int64_t used;
  std::byte* free[kClasses];
};

enum class CollectiveKind { all_reduce, broadcast, all_gather, reduce_scatter, reduce };

/// One collective of a communicator: what every rank must have asked for alike.
struct Collective {
  bool known;
  CollectiveKind kind;
  int root;
  int dtype;
  bool averages;       ///< what ranks give, each divided by how many they are
  std::int64_t bytes;  ///< the larger of what a rank gives and gets: all of it
  int arrived;
  int finished;
  bool torn;
  bool lost;  ///< a fault: it never ends
  std::byte* given[16];
  std::byte* result;
};

struct Communicator {
  std::int64_t id;
  int ranks;
  std::int64_t joined;
  int devices[16];  ///< physical, by rank, counted from 1
  bool aborted[16];
  int async_error[16];
  std::int64_t launched[16];
  // A rank's collectives run in the order it launched them, from whichever stream (NCCL's enqueue.cc has an event between two
  // streams): how many have ended, where the last of them was, and when.
  std::int64_t ended[16];
  int ended_on[16];
  std::int64_t ended_at[16];
  static constexpr int kInFlight = 1024;
  Collective collectives[kInFlight];  ///< the i-th at i % kInFlight
};

}  // namespace simulated_gpu
