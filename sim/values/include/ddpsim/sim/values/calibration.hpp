// What measured all-reduces say of one cluster, as its file carries it: constants of the pipeline cost model
// in place of those learned from all clusters, and a correction where cost model and measurement part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/cost_constants.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// Where a measurement stands.
struct OperatingPoint {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes size;
  Algorithm algorithm{};
  Protocol protocol{};
  std::optional<NcclVersion> nccl{};  ///< where the logs are of several releases
};

struct CorrectionPoint {
  OperatingPoint at;
  double weight = 0;
  double within_shape = 0;  ///< weight among points of its own shape alone
};

/// Where times come from. A training's all-reduces run beside compute, each once a step: they weigh less than
/// all_reduce_perf's. Joined ranks tell the transfer from the wait; one rank alone only what it cannot exceed.
enum class TimedBy { all_reduce_perf, joined_ranks, one_rank };

/// One log the calibration rests on.
struct CalibratedShape {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes smallest;
  Bytes largest;
  std::string source;               ///< file name
  std::string fault;                ///< why it is distrusted, where it was fitted all the same
  std::optional<NcclVersion> nccl;  ///< with which it was fitted: printed in the log, or stated
  TimedBy timed_by = TimedBy::all_reduce_perf;
  /// Median of |predicted / measured - 1| from 1 KiB on where logs of this job shape are left out:
  /// by the others, by the specification where there are none.
  std::optional<double> left_out_error{};
  bool published = false;  ///< taken by others, on a machine of the same kind
  /// Digest of the measured times, which tells a log apart from another of its name. Empty in files of older programs.
  std::string digest{};
};

/// Classes of message sizes: where latency ends to decide, and where the wire begins to. Between the
/// two, in the logarithm, lies the centre.
inline constexpr Bytes kMiddleFrom{64 << 10};
inline constexpr Bytes kMiddleCentre{256 << 10};
inline constexpr Bytes kLargeFrom{1 << 20};

/// By the size of the message, of the logarithm of a time, one standard deviation.
struct SizeSpread {
  double small = 0;   ///< below kMiddleFrom
  double middle = 0;  ///< below kLargeFrom
  double large = 0;   ///< from there
  double at(Bytes size) const {
    return size < kMiddleFrom ? small : size < kLargeFrom ? middle : large;
  }
};

/// How NCCL weighed otherwise than its table does for the cluster as stated. How far a NIC is from
/// its GPU and what NCCL's search found no specification tells, but logs do: a change of algorithm
/// shows.
struct FittedSelection {
  double tree_factor = 1;           ///< on NCCL's estimates of trees between nodes
  bool ll128_between_nodes = true;  ///< false: not taken, whatever the table says
};

struct Calibration {
  PathConstants constants;
  FittedSelection selection;
  std::vector<CorrectionPoint> correction;
  SizeSpread
      residual_deviation;  ///< of the cost model alone: what a shape that nobody measured may miss by
  SizeSpread
      repeatability;  ///< of measurements of one shape: in and out of place, and from log to log
  std::vector<CalibratedShape> shapes;  ///< at least one
};

}  // namespace ddpsim
