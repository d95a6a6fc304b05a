// Several streams launch on one communicator: NCCL runs what was launched in that order, and hands over from one stream to
// another by an event (enqueue.cc of 2.27: a launch waits for the communicator's own stream, which waits for the last one).
#pragma once

#include <optional>

#include "scheme_writer.hpp"

namespace ddpsim {

class SharedCommunicator {
 public:
  /// A stream of the GPU, whichever of RankStreams stands for the communicator.
  enum class From { gathers, reductions };

  /// Before something is launched from there.
  void enter(RankStreams& streams, RankStreams::Beside communicator, From stream) {
    if (last_ && stream_ != stream && !streams.host_computes())
      streams.hold_on(communicator, OperationKind::pack, *last_);
  }
  /// It was.
  void left(const SchemeWriter::Launched& launched, From stream) {
    last_ = launched.done;
    stream_ = stream;
  }

 private:
  std::optional<EventId> last_;
  From stream_ = From::gathers;
};

}  // namespace ddpsim
