// What the reducer needs from a communication library: collectives that run concurrently with the
// compute stream, in the order of the calls. NCCL and gloo implement it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.hpp"

namespace ddpsim {

/// Handle of a launched collective.
using WorkId = std::size_t;

struct CollectiveTimes {
  /// When it starts on this rank. It may still wait for others.
  TimePoint start;
  TimePoint end;
  /// When the sums of 16-bit elements are cast back; for other types equal to `end`.
  TimePoint done;
};

/// A peer is gone or did not answer. Every rank then ends.
class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Sums over all ranks, in place, after the work that is now on the compute stream.
  virtual WorkId all_reduce(Region region) = 0;
  /// Sums 16-bit elements in the same way, then casts the sums into `wide`, concurrently with the
  /// compute stream. This is the end of a compression hook.
  virtual WorkId all_reduce_and_decompress(Region region, Region wide) = 0;
  /// Copies rank 0's content to all ranks, after the work that is now on the compute stream.
  virtual WorkId broadcast(Region region) = 0;
  /// The compute stream waits until the collective and its casts are done. Throws PeerLost.
  virtual void wait(WorkId work) = 0;
  /// Valid after Device::synchronise.
  virtual CollectiveTimes times_of(WorkId work) = 0;
  /// This rank fails. It stops waiting for answers that its peers will never send.
  virtual void abandon() noexcept {}
  /// The caller will not ask for earlier handles again.
  virtual void forget_works() = 0;
};

}  // namespace ddpsim
