// What the schedules of DeepSpeed's stages share: side streams used under overlap_comm, the host's
// times, and the optimizer of a rank's own part.
#pragma once

#include <cstdint>
#include <vector>

#include "offload_costs.hpp"
#include "scheme_writer.hpp"

namespace ddpsim {

/// A side stream under overlap_comm. Without it, this is the compute stream itself, so that nothing
/// has to wait.
class ZeroStream {
 public:
  ZeroStream(SchemeWriter& writer, bool overlaps)
      : writer_(writer),
        streams_(writer.streams()),
        stream_(streams_.open()),
        overlaps_(overlaps) {}

  void run(Duration kernel) {
    if (overlaps_)
      streams_.work_on(stream_, OperationKind::pack, kernel);
    else
      writer_.pack(kernel);
  }
  /// Runs copies between host and GPU.
  void copy(Duration copies) {
    if (overlaps_)
      streams_.work_on(stream_, OperationKind::host_copy, copies);
    else
      streams_.compute(OperationKind::host_copy, copies);
  }
  EventId record() {
    return overlaps_ ? streams_.record_on(stream_, OperationKind::pack)
                     : streams_.record_on_compute(OperationKind::pack);
  }
  void wait_for(EventId event) {
    if (overlaps_) streams_.hold_on(stream_, OperationKind::pack, event);
  }
  /// Waits until the host has reached its current point.
  void wait_for_host() {
    if (overlaps_) wait_for(streams_.record_on_host(OperationKind::launch));
  }
  /// Makes later work on this stream read the collective's result. On a side stream, the collective
  /// joins `in_flight`, for which compute waits later.
  void go_on_behind(const SchemeWriter::Launched& launched,
                    std::vector<SchemeWriter::Launched>& in_flight) {
    wait_for(launched.done);
    if (overlaps_)
      in_flight.push_back(launched);
    else
      writer_.wait_for(launched);
  }

 private:
  SchemeWriter& writer_;
  RankStreams& streams_;
  const RankStreams::SideStream stream_;
  const bool overlaps_;
};

/// Host times of this scheme's release of DeepSpeed, with `trained` parameters.
inline ZeroHost host_times(const Job& job, const Zero& scheme, std::int64_t trained) {
  ZeroHost host = job.options().costs.zero;
  if (!scheme.counts_in_every_hook()) return host;
  host.hook += host.counted * trained;
  host.written += host.counted * trained;
  return host;
}

/// A rank's part of all parameters.
struct OwnedPart {
  Bytes single;    ///< in fp32, as it is stepped
  Bytes computed;  ///< in the type of computation
  std::int64_t tensors = 0;
  double share = 1;  ///< of the parameters
};

/// Looks for infinities and NaNs in the rank's gradients: the least and the most of each tensor.
inline void check_owned(const OwnedPart& owned, Duration each, SchemeWriter& writer) {
  writer.call_hook(each * owned.tensors);
  writer.pack(writer.kernels().kernels(2 * owned.tensors, 2 * owned.computed));
}

/// Computes the norm of the rank's gradients: a copy of each tensor in 64 bits, which is then read.
inline void read_norm_of_owned(const OwnedPart& owned, SchemeWriter& writer) {
  const Bytes doubled = 2 * owned.single;
  writer.pack(writer.kernels().kernels(2 * owned.tensors, owned.computed + 2 * doubled));
}

/// Runs the optimizer of the rank's part, on the host with `on_host`, otherwise on the GPU, which
/// first copies the gradients together and casts them. Then casts the part to the type of
/// computation. With `to_gpu`, the result is then copied to the GPU.
inline void step_owned(const OwnedPart& owned, bool on_host, bool to_gpu,
                       const OffloadCosts& offload, SchemeWriter& writer) {
  if (on_host) {  // unscale, step, cast
    writer.optimizer_on_host(offload.moves(2 * owned.single) + offload.step(owned.single) +
                             offload.moves(owned.single + owned.computed));
  } else {
    writer.pack(writer.kernels().copy(owned.computed));  // laid end to end
    if (owned.computed != owned.single)
      writer.pack(writer.kernels().cast(owned.computed, owned.single));
    writer.optimizer(owned.share);
    writer.pack(writer.kernels().cast(owned.single, owned.computed));
  }
  if (to_gpu) writer.streams().compute(OperationKind::host_copy, offload.copies(1, owned.computed));
}

}  // namespace ddpsim
