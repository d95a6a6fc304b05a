// What the schedules of DeepSpeed's stages have in common: work that runs beside compute with overlap_comm, and the step on what
// a rank owns.
#pragma once

#include <vector>

#include "offload_costs.hpp"
#include "scheme_writer.hpp"

namespace ddpsim {

/// A stream beside compute with overlap_comm; without it, compute's own, where nothing needs to be waited for.
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
  /// Copies between host and GPU.
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
  /// Until the host has come to where it is now.
  void wait_for_host() {
    if (overlaps_) wait_for(streams_.record_on_host(OperationKind::launch));
  }
  /// What runs next reads what the collective brings. Beside compute it joins `in_flight`: compute waits for these later.
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
  const RankStreams::Beside stream_;
  const bool overlaps_;
};

/// A rank's part of all parameters.
struct OwnedPart {
  Bytes single;      ///< in fp32, as it is stepped
  Bytes computed;    ///< as computed in
  double share = 1;  ///< of the parameters
};

/// Steps it where the optimizer is, and casts it. `to_gpu`: it is then copied there.
inline void step_owned(const OwnedPart& owned, bool on_host, bool to_gpu,
                       const OffloadCosts& offload, SchemeWriter& writer) {
  if (on_host) {  // unscaled, stepped, cast
    writer.optimizer_on_host(offload.moves(2 * owned.single) + offload.step(owned.single) +
                             offload.moves(owned.single + owned.computed));
  } else {
    writer.optimizer(owned.share);
    writer.pack(writer.kernels().cast(owned.single, owned.computed));
  }
  if (to_gpu) writer.streams().compute(OperationKind::host_copy, offload.copies(1, owned.computed));
}

}  // namespace ddpsim
