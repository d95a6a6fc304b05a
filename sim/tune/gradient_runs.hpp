// How limits split the gradients of a model, without building buckets: where each bucket ends and
// how large it is.
//
// Gradients of one (dtype, device) fill their own buckets in the order of assignment, whatever lies
// between them. So each kind is a running sum of bytes, and bisection finds the end of a bucket.
// The cost grows with the number of buckets, not of gradients. The rule is that of assign_buckets;
// a test compares the two.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Which gradients share a bucket, and in which order buckets are emitted.
struct Cut {
  /// The index after the last gradient of each bucket, kind by kind. Each kind counts from where
  /// the one before ends.
  std::vector<std::size_t> ends;
  /// Only if several kinds are emitted in turns: the first gradient of each bucket, as a position
  /// in the order of assignment.
  std::vector<std::size_t> emitted;
  /// The smallest bucket that the watched limits closed. Absent if they closed none.
  std::optional<Bytes> smallest_closed;

  bool same_buckets(const Cut& other) const {
    return ends == other.ends && emitted == other.emitted;
  }
};

/// The limits whose closed buckets count.
struct Watched {
  std::size_t from;
  bool only = false;  ///< only `from`, not the limits after it
  bool holds(std::size_t limit) const { return only ? limit == from : limit >= from; }
};

class GradientRuns {
 public:
  /// Kinds and order are those of the steady step's assignment.
  GradientRuns(const Workload& workload, const DdpOptions& options, TorchVersion torch);

  Cut cut(std::span<const Bytes> limits, Watched watched = {.from = 0}) const;
  /// Counts sparse gradients too: each is a bucket by itself under any limit.
  std::size_t buckets(const Cut& cut) const { return cut.ends.size() + sparse_.size(); }
  /// Bytes of the first k gradients of all kinds together; one entry more than there are gradients.
  const std::vector<Bytes>& bytes_before() const { return bytes_before_; }

 private:
  struct Kind {
    std::size_t begin;  ///< first of its gradients among all
    std::size_t end;
  };
  /// A bucket as it is emitted. Leftover buckets come last, the most recent kind first.
  struct Emission {
    std::size_t at;  ///< position in the order of assignment
    /// Position of the bucket's first gradient in the order of assignment.
    std::size_t first;
  };
  std::vector<std::size_t> in_order(std::vector<Emission> emissions) const;

  std::vector<Bytes> bytes_before_;
  /// Positions of the same gradients in the order of assignment.
  std::vector<std::size_t> positions_;
  std::vector<Kind> kinds_;          ///< in the order they are met
  std::vector<std::size_t> sparse_;  ///< positions
  /// Buckets of several kinds are launched in the order they are emitted.
  bool order_tells_;
};

}  // namespace ddpsim
