// The state of one rank in both schemes: device, streams, communicators, parameters, and what is
// computed from them.
//
// Its numbers have a known result. Forward of a layer leaves a copy of the parameters it read.
// Backward adds them again; half of the sum, times this rank's number (from 1), is the gradient.
// The average over ranks is then (ranks + 1) / 2 times the parameters. The optimizer takes -2 /
// (ranks + 1) of it, divided by the number of micro-batches, so it inverts the signs of the
// parameters.
//
// Reading parameters of the previous step, or reducing gradients too early, gives an error as large
// as the parameters. On the simulated GPU, unordered accesses give NaN.
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

/// The place of a parameter in its unit.
struct Place {
  std::int64_t elements;
  /// A rank's padded share of it, if parameters are sharded one by one.
  std::int64_t shard;
  /// Its offset in a rank's share of the unit.
  std::int64_t shard_at;
  /// Its offset in the unit, where unpadded parameters follow each other.
  std::int64_t at;
  std::int64_t backward_ns;
};

/// Parameters that are gathered and reduced together.
struct Unit {
  std::string name;
  bool is_root = false;
  std::vector<Place> parameters;
  std::int64_t elements = 0;  ///< unpadded
  std::int64_t shard = 0;     ///< elements of a rank, including padding
  /// Its share in the optimizer's type, float32. It is on the host under cpu_offload.
  Block stored;
  Block host_gradient;  ///< its gradient on the host
  /// The output of forward, as large as the whole padded unit.
  Block activation;
  Block places;  ///< places of the parameters, for kernels
};

/// A part of forward and backward between two hooks.
struct Part {
  std::size_t unit;
  std::size_t first;  ///< first parameter in backward's order
  std::size_t count;  ///< number of parameters
  std::int64_t forward_ns;
};

/// An operation of a stream or the host, in microseconds since the rank's streams and its host
/// stopped.
struct Span {
  std::string what;
  std::string unit;
  double start_us;
  double end_us;
};

struct Communicators {
  ncclComm_t shards = nullptr;  ///< ranks that hold one copy together
  /// Ranks that hold the same share; null if there is one copy.
  ncclComm_t replicas = nullptr;
};

class Rank {
 public:
  /// `rank` counts from 0. With `by_parameter`, each parameter is sharded by itself.
  Rank(const Job& job, int rank, Communicators communicators, bool by_parameter);

  const Job& job() const { return job_; }
  int group() const { return job_.group; }
  int group_rank() const { return rank_ % job_.group; }
  Memory& memory() { return memory_; }
  Autograd& autograd() { return autograd_; }
  cudaStream_t compute() const { return compute_; }
  const Communicators& communicators() const { return communicators_; }
  std::vector<Unit>& units() { return units_; }
  const std::vector<Part>& parts() const { return parts_; }
  /// Whether the root computes something after all units, so that its output is not the last
  /// unit's. Otherwise its hooks are on the same tensor as the unit's and run after them.
  bool root_computes_last() const;

  cudaStream_t open_stream(bool high_priority);
  /// torch.Stream.wait_stream: waits for all work that `other` holds now.
  void wait_stream(cudaStream_t stream, cudaStream_t other);
  void wait_event(cudaStream_t stream, cudaEvent_t event);
  /// torch.Stream.record_event; `end_event` destroys the event.
  cudaEvent_t record_event(cudaStream_t stream);
  void end_event(cudaEvent_t& event);

  /// Python's work in a hook.
  void call_hook() { work_on_host(job_.hook_ns); }

  // These are launched on a stream. Their names label the spans of the timed step.
  void forward(const Part& part, const Block& parameters);
  /// Writes one parameter's gradient to its place in `gradients`.
  void backward(const Unit& unit, const Place& place, const Block& parameters,
                const Block& gradients);
  /// Runs the optimizer's step of all units, with gradients in their stored type.
  void optimizer(const std::vector<Block>& gradients);
  /// Runs the same step on the host, with gradients that are already there.
  void optimizer_on_host();
  void pack(cudaStream_t stream, const char* what, const Unit& unit,
            const std::function<int(cudaStream_t)>& launch);
  /// The same; launching it takes the host as long as launching a copy.
  void pack_from_python(cudaStream_t stream, const char* what, const Unit& unit,
                        const std::function<int(cudaStream_t)>& launch);
  static Block pinned(std::int64_t bytes);
  /// Copies between the GPU and the host's pinned memory.
  void copy(cudaStream_t stream, const char* what, const Unit& unit, void* to, const void* from,
            std::int64_t bytes);
  /// to += from, on the host.
  void add_on_host(float* to, const float* from, std::int64_t elements);
  void collective(cudaStream_t stream, const char* what, const Unit& unit,
                  const std::function<ncclResult_t(cudaStream_t)>& launch);
  /// Blocks the host until all work of a stream has finished.
  void synchronize(cudaStream_t stream);
  /// Blocks the host for the limiter.
  void synchronize(cudaEvent_t event, const Unit& unit);

  /// Offset of a parameter in the whole gathered unit, in elements.
  std::int64_t whole_at(const Place& place) const {
    return by_parameter_ ? place.shard_at * job_.group : place.at;
  }
  void* at(const Block& block, std::int64_t element, ddpsim_type type) const {
    return static_cast<char*>(block.data) + element * size_of(type);
  }

  /// Runs the steps; if `timed`, times the last one.
  void train(const std::function<void()>& step, bool timed);
  const std::vector<Span>& spans() const { return spans_; }
  std::int64_t steps_done() const { return steps_done_; }
  /// The largest relative error of a final parameter; NaN if any is NaN.
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
  std::vector<Part> parts_;
  bool timing_ = false;
  cudaEvent_t still_ = nullptr;
  std::chrono::steady_clock::time_point still_host_;
  std::vector<TimedSpan> timed_;
  std::vector<Span> spans_;
  std::int64_t steps_done_ = 0;
};

}  // namespace fsdp
