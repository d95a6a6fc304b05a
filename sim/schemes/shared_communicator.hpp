// Several streams that launch on one communicator. NCCL runs collectives in launch order and passes
// from one stream to another by an event. In enqueue.cc of 2.27, a launch waits for the
// communicator's own stream, which waits for the last launch.
#pragma once

#include <optional>

#include "scheme_writer.hpp"

namespace ddpsim {

class SharedCommunicator {
 public:
  /// The GPU stream that launches, independent of the RankStreams stream that stands for the
  /// communicator.
  enum class From { gathers, reductions };

  /// Call this before a launch from that stream.
  void enter(RankStreams& streams, RankStreams::SideStream communicator, From stream) {
    if (last_ && stream_ != stream && !streams.host_computes())
      streams.hold_on(communicator, OperationKind::pack, *last_);
  }
  /// Call this after the launch.
  void left(const SchemeWriter::Launched& launched, From stream) {
    last_ = launched.done;
    stream_ = stream;
  }

 private:
  std::optional<EventId> last_;
  From stream_ = From::gathers;
};

}  // namespace ddpsim
