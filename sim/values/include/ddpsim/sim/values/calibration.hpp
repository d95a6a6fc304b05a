// What measured all-reduces show about one cluster, as its file stores it. It replaces the
// constants of the pipeline cost model that were learned from all clusters, and corrects what the
// model still misses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/cost_constants.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// What a measurement was taken on.
struct OperatingPoint {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes size;
  Algorithm algorithm{};
  Protocol protocol{};
  /// Set if the logs come from several NCCL releases.
  std::optional<NcclVersion> nccl{};
};

struct CorrectionPoint {
  OperatingPoint at;
  double weight = 0;
  /// Weight among the points of its own job shape only.
  double within_shape = 0;
};

/// The source of measured times. all_reduce_perf weighs most; all-reduces of a training weigh less,
/// because they run during compute and each only once per step. Recordings of several ranks,
/// joined, separate the transfer from the wait; one rank alone gives only an upper bound.
enum class TimedBy { all_reduce_perf, joined_ranks, one_rank };

/// One log the calibration rests on.
struct CalibratedShape {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes smallest;
  Bytes largest;
  std::string source;  ///< file name
  /// Why the log is distrusted, if it was fitted nevertheless.
  std::string fault;
  /// The NCCL of the fit: printed in the log, or stated.
  std::optional<NcclVersion> nccl;
  TimedBy timed_by = TimedBy::all_reduce_perf;
  /// Median of |predicted / measured - 1| from 1 KiB on, predicted without the logs of this job
  /// shape: from the other logs, or from data sheet values if there are none.
  std::optional<double> left_out_error{};
  /// Taken by others, on a machine of the same kind.
  bool published = false;
  /// Digest of the measured times, which distinguishes logs of the same name. Empty in files that
  /// older releases wrote.
  std::string digest{};
};

/// Bounds of three classes of message sizes: latency dominates up to the first, bandwidth from the
/// last on. The centre is the logarithmic middle between them.
inline constexpr Bytes kMiddleFrom{64 << 10};
inline constexpr Bytes kMiddleCentre{256 << 10};
inline constexpr Bytes kLargeFrom{1 << 20};

/// Standard deviation of the logarithm of a time, by message size.
struct SizeSpread {
  double small = 0;   ///< below kMiddleFrom
  double middle = 0;  ///< below kLargeFrom
  double large = 0;   ///< from kLargeFrom on
  double at(Bytes size) const {
    return size < kMiddleFrom ? small : size < kLargeFrom ? middle : large;
  }
};

/// How NCCL's choice of algorithm on this cluster differs from what its tuning table gives for the
/// stated cluster. Data sheets do not tell how far a NIC is from its GPU or what NCCL's search
/// found. Logs do, because a change of algorithm is visible in them.
struct FittedSelection {
  double tree_factor = 1;  ///< on NCCL's estimates for trees between nodes
  /// False: LL128 is not used between nodes, whatever the table says.
  bool ll128_between_nodes = true;
};

struct Calibration {
  PathConstants constants;
  FittedSelection selection;
  std::vector<CorrectionPoint> correction;
  /// Error of the cost model alone, which applies to a job shape that was not measured.
  SizeSpread residual_deviation;
  /// Spread of repeated measurements of one job shape: in and out of place, and from log to log.
  SizeSpread repeatability;
  std::vector<CalibratedShape> shapes;  ///< at least one
};

}  // namespace ddpsim
