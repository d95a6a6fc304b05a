// What the reducer needs of a communication library: collectives beside the compute stream, in the
// order of the calls. NCCL and gloo stand behind it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.hpp"

namespace ddpsim {

/// A collective that was launched.
using WorkId = std::size_t;

struct CollectiveTimes {
  TimePoint start;  ///< runs on this rank; it may still wait for others
  TimePoint end;
  TimePoint done;  ///< sums cast back, where they were 16 bits wide; else the end
};

/// A peer is gone or never answered. Everyone ends then.
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

  /// Sums over all ranks, in place, after what the compute stream holds now.
  virtual WorkId all_reduce(Region region) = 0;
  /// Sums 16-bit elements so, then casts the sums into `wide`, beside the compute stream: the end
  /// of a compression hook.
  virtual WorkId all_reduce_and_decompress(Region region, Region wide) = 0;
  /// Rank 0's content for all, after what the compute stream holds now.
  virtual WorkId broadcast(Region region) = 0;
  /// The compute stream goes on when it is done, casts included. Throws PeerLost.
  virtual void wait(WorkId work) = 0;
  /// After Device::synchronise.
  virtual CollectiveTimes times_of(WorkId work) = 0;
  /// This rank fails: what its peers will never answer is not waited for any more.
  virtual void abandon() noexcept {}
  /// Tickets so far are no longer asked for.
  virtual void forget_works() = 0;
};

}  // namespace ddpsim
