// What one rank has, whichever way it shards: device, streams, communicators, the parameters and what is computed of them.
//
// It computes with numbers of which the outcome is known. A layer's forward leaves what it read of its parameters; its backward
// adds them once more, and half of that, times this rank's number (from 1), is the gradient. The average over ranks is then
// (ranks + 1) / 2 of the parameters, and an optimizer that takes -2 / (ranks + 1) of it, and of micro-batches, turns their
// signs. Whoever reads parameters of the step before, or reduces gradients too early, is off by their whole size; what nobody
// ordered is NaN on the simulated GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd.hpp"
#include "job.hpp"
#include "memory.hpp"

namespace fsdp {

/// Ends the process with a message.
void require(cudaError_t status, const char* what);
void require(ncclResult_t status, const char* what);
inline void require_launched(int status, const char* what) {
  require(static_cast<cudaError_t>(status), what);
}

std::int64_t size_of(ddpsim_type type);

/// A parameter where its unit keeps it.
struct Place {
  std::int64_t elements;
  std::int64_t shard;  ///< a rank's share of it, padded, where parameters are sharded one by one …
  std::int64_t shard_at;  ///< … and where it lies within a rank's share of the unit
  std::int64_t at;        ///< within the unit, one unpadded parameter behind the other
  std::int64_t backward_ns;
};

/// Parameters that are gathered and reduced together.
struct Unit {
  std::string name;
  bool is_root = false;
  std::vector<Place> parameters;
  std::int64_t elements = 0;  ///< unpadded
  std::int64_t shard = 0;     ///< elements of a rank, padding included
  Block stored;  ///< its share, as the optimizer steps it: float32; under cpu_offload on the host …
  Block host_gradient;  ///< … where its gradient comes to
  Block activation;     ///< what forward leaves, as large as the whole, padded unit
  Block places;         ///< of the parameters, for kernels
};

/// A part of forward between two hooks, and of backward.
struct Stretch {
  std::size_t unit;
  std::size_t first;  ///< of its parameters …
  std::size_t count;  ///< … in the order backward writes them
  std::int64_t forward_ns;
};

/// What ran on a stream, or what the host did, in microseconds since the rank's streams and its host stood still.
struct Span {
  std::string what;
  std::string unit;
  double start_us;
  double end_us;
};

struct Communicators {
  ncclComm_t shards = nullptr;    ///< of ranks that hold a copy together
  ncclComm_t replicas = nullptr;  ///< of those that hold the same share; null: there is one copy
};

class Rank {
 public:
  /// Of ranks from 0; `by_parameter`: each is sharded by itself.
  Rank(const Job& job, int rank, Communicators communicators, bool by_parameter);

  const Job& job() const { return job_; }
  int group() const { return job_.group; }
  int group_rank() const { return rank_ % job_.group; }
  Memory& memory() { return memory_; }
  Autograd& autograd() { return autograd_; }
  cudaStream_t compute() const { return compute_; }
  const Communicators& communicators() const { return communicators_; }
  std::vector<Unit>& units() { return units_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }
  /// What the root returns is not what the last unit does: it computes something behind all of them. Else its hooks hang on
  /// the same tensor as the unit's, and are called behind them.
  bool root_computes_last() const;

  cudaStream_t open_stream(bool high_priority);
  /// torch.Stream.wait_stream: for all that `other` holds now.
  void wait_stream(cudaStream_t stream, cudaStream_t other);
  void wait_event(cudaStream_t stream, cudaEvent_t event);
  /// torch.Stream.record_event; ended by `end_event`.
  cudaEvent_t record_event(cudaStream_t stream);
  void end_event(cudaEvent_t& event);

  /// Python works for so long before it goes on.
  void call_hook() { work_on_host(job_.hook_ns); }

  // Launched on a stream. Spans bear their names, for the step that is timed.
  void forward(const Stretch& stretch, const Block& parameters);
  /// One parameter's gradient, into `gradients` at its place.
  void backward(const Unit& unit, const Place& place, const Block& parameters,
                const Block& gradients);
  /// The optimizer's step of all units, of gradients as they are stored.
  void optimizer(const std::vector<Block>& gradients);
  /// The same on the host, of gradients that are there.
  void optimizer_on_host();
  void pack(cudaStream_t stream, const char* what, const Unit& unit,
            const std::function<int(cudaStream_t)>& launch);
  static Block pinned(std::int64_t bytes);
  /// Between the GPU and the host's pinned memory.
  void copy(cudaStream_t stream, const char* what, const Unit& unit, void* to, const void* from,
            std::int64_t bytes);
  /// to += from, of the host.
  void add_on_host(float* to, const float* from, std::int64_t elements);
  void collective(cudaStream_t stream, const char* what, const Unit& unit,
                  const std::function<ncclResult_t(cudaStream_t)>& launch);
  /// The host stands until all of a stream is done.
  void synchronize(cudaStream_t stream);
  /// The limiter holds the host.
  void synchronize(cudaEvent_t event, const Unit& unit);

  /// Of a parameter in elements of the whole unit, as it is gathered.
  std::int64_t whole_at(const Place& place) const {
    return by_parameter_ ? place.shard_at * job_.group : place.at;
  }
  void* at(const Block& block, std::int64_t element, ddpsim_type type) const {
    return static_cast<char*>(block.data) + element * size_of(type);
  }

  /// `run`: steps of it, the last one timed if asked for.
  void train(const std::function<void()>& step, bool timed);
  const std::vector<Span>& spans() const { return spans_; }
  std::int64_t steps_done() const { return steps_done_; }
  /// The worst error of a parameter in the end, as a share of what it should be; NaN if any is.
  double worst_error();

 private:
  struct TimedSpan {
    const char* what;
    std::string unit;
    cudaEvent_t start;
    cudaEvent_t end;
  };

  void lay_out(bool by_parameter);
  void fill();
  void work_on_host(std::int64_t ns);
  double host_us() const;
  void stand_still();
  void timed(cudaStream_t stream, const char* what, const std::string& unit,
             const std::function<void()>& launch);
  void note_host(const char* what, const Unit& unit, double since_us);
  void read_spans();

  const Job& job_;
  const int rank_;
  const Communicators communicators_;
  const bool by_parameter_;
  Memory memory_;
  Autograd autograd_;
  cudaStream_t compute_ = nullptr;
  std::vector<cudaStream_t> streams_;
  std::vector<Unit> units_;
  std::vector<Stretch> stretches_;
  bool timing_ = false;
  cudaEvent_t still_ = nullptr;
  std::chrono::steady_clock::time_point still_host_;
  std::vector<TimedSpan> timed_;
  std::vector<Span> spans_;
  std::int64_t steps_done_ = 0;
};

}  // namespace fsdp
