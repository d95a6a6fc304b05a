// What limits make of the gradients of a model, without the buckets themselves: where each ends and how large it is.
//
// Gradients of one (dtype, device) fill buckets of their own in the order they are assigned, whatever lies between them. So
// each kind is a running sum of bytes, and a bucket's end is found by bisection: a bucketing costs as many steps as it has
// buckets, not gradients. The rule is assign_buckets'; a test holds the two against each other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Which gradients share a bucket, and which is emitted before which.
struct Cut {
  /// Behind the last gradient of each bucket, kind by kind, each kind counted from where the one before ends.
  std::vector<std::size_t> ends;
  /// Where several kinds are emitted in turns: the first gradient of each bucket, as positions in the order of assignment.
  std::vector<std::size_t> emitted;
  /// The smallest bucket that the watched limits closed; absent where they closed none.
  std::optional<Bytes> smallest_closed;

  bool same_buckets(const Cut& other) const {
    return ends == other.ends && emitted == other.emitted;
  }
};

/// Which of the limits.
struct Watched {
  std::size_t from;
  bool only = false;  ///< that one, not those behind it
  bool holds(std::size_t limit) const { return only ? limit == from : limit >= from; }
};

class GradientRuns {
 public:
  /// As the steady step's buckets are assigned.
  GradientRuns(const Workload& workload, const DdpOptions& options, TorchVersion torch);

  Cut cut(std::span<const Bytes> limits, Watched watched = {.from = 0}) const;
  /// A sparse gradient is a bucket by itself under any limit.
  std::size_t buckets(const Cut& cut) const { return cut.ends.size() + sparse_.size(); }
  /// Bytes of the first gradients of all kinds together; one entry more than there are gradients.
  const std::vector<Bytes>& bytes_before() const { return bytes_before_; }

 private:
  struct Kind {
    std::size_t begin;  ///< of its gradients among all
    std::size_t end;
  };
  /// What is left over comes last, of the kind met last first.
  struct Emission {
    std::size_t at;     ///< position in the order of assignment …
    std::size_t first;  ///< … and of the bucket's first gradient
  };
  std::vector<std::size_t> in_order(std::vector<Emission> emissions) const;

  std::vector<Bytes> bytes_before_;
  std::vector<std::size_t> positions_;  ///< of the same gradients in the order of assignment
  std::vector<Kind> kinds_;             ///< as they are met
  std::vector<std::size_t> sparse_;     ///< positions
  bool order_tells_;  ///< buckets of several kinds are launched as they are emitted
};

}  // namespace ddpsim
