// What measured all-reduces say of one cluster, as its file carries it: constants of the pipeline law
// in place of those learned from all clusters, and a correction where law and measurement part.
//
//   T = law(constants) * exp(r)
//   r(x) = sum over measured sizes i of weight_i * covariance(x, x_i)
//          + sum over those of the same scale of own_i * own covariance(x, x_i)
//
// r is a Gaussian process (kriging) over the logarithm of the size and the number of nodes and GPUs:
// near a measured size of a measured scale it gives that measurement back, between scales it passes
// smoothly, and far from both it fades to the law alone. Its few lengths are the same for every
// cluster: chosen by what scales left out showed, over all families of logs together.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/units.hpp"
#include "ddpsim/sim/versions.hpp"

namespace ddpsim {

struct Cluster;
enum class Algorithm;
enum class Protocol;

/// Microseconds by protocol, in NCCL's index order: LL, LL128, Simple.
using ProtocolLatency = std::array<double, 3>;

/// The pipeline law's constants for one cluster, whatever its number of nodes.
struct PathConstants {
  double launch_us = 0;        ///< kernel launch and rendezvous of all ranks
  ProtocolLatency start_us{};  ///< beside it: first round of buffer handshakes
  ProtocolLatency local_us{};  ///< one hop between GPUs of a node
  ProtocolLatency hop_us{};    ///< one hop between nodes: proxy threads, NIC and wire
  double rendezvous_us = 0;    ///< more per such hop for messages from 64 KiB on
  double channel_us = 0;       ///< more per such hop and further channel: one proxy serves all
  double local_share = 1;      ///< of the nominal rate between GPUs that carries payload
  double nic_share = 1;        ///< of a NIC's nominal rate
  double lone_gpu = 1;         ///< factor where one GPU feeds all NICs of its node
  double ll_gbps = 0;          ///< GB/s of payload one thread block moves with LL
  double ll128_gbps = 0;       ///< the same with LL128
  double nvls_start_us = 0;    ///< as start_us, of NVLS
  double nvls_wave_us = 0;     ///< per wave of chunks through the switch
  double nvls_share = 1;       ///< as local_share, through the switch's reduction
  double overlap = 1;          ///< how latencies between nodes hide behind the transfer

  // What only logs of a cluster tell; the uncalibrated law leaves it out.
  double block_us = 0;    ///< more to start per further thread block
  double ring_ends = 0;   ///< share that is seen of the last copy of a ring, which no link carries
  double tree_share = 1;  ///< factor on nic_share for trees over three nodes and more
  double ll_share = 1;    ///< factor on ll_gbps between nodes, where a proxy sends its flags, too
  /// Logarithm by which hop_us of LL and LL128 grows with the message, over each stretch of
  /// kHopGrowth.
  std::array<double, 3> hop_growth{};
};

/// Powers of two of bytes on the wire: `hop_growth[i]` is reached from the i-th to the next.
inline constexpr std::array<double, 4> kHopGrowth{10, 12, 14, 16};

/// The law's constants for a cluster: its own where it is calibrated, else those of its kind.
PathConstants constants_of(const Cluster& cluster);

/// Where a measurement stands.
struct CorrectionPlace {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes size;
  Algorithm algorithm{};
  Protocol protocol{};
  std::optional<NcclVersion> nccl{};  ///< where the logs are of several releases
};

/// Prior covariance of the logarithms of measured over law at two places.
double correction_covariance(const CorrectionPlace& a, const CorrectionPlace& b);
/// The same of what a scale keeps to itself, once all scales together have been fitted.
double own_covariance(const CorrectionPlace& a, const CorrectionPlace& b);

struct CorrectionPoint {
  CorrectionPlace place;
  double weight = 0;
  double own = 0;  ///< weight in its own scale alone
};

/// One log the calibration rests on.
struct CalibratedScale {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes smallest;
  Bytes largest;
  std::string source;               ///< file name
  std::string fault;                ///< why it is distrusted, where it was fitted all the same
  std::optional<NcclVersion> nccl;  ///< with which it was fitted: printed in the log, or stated
};

/// By the size of the message, of the logarithm of a time, one standard deviation.
struct SizeSpread {
  double small = 0;   ///< below 64 KiB
  double middle = 0;  ///< up to 1 MiB
  double large = 0;   ///< from 1 MiB
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
  SizeSpread misfit;   ///< of the law alone: what a scale that nobody measured may miss by
  SizeSpread repeats;  ///< of measurements of one scale: in and out of place, and from log to log
  std::vector<CalibratedScale> scales;  ///< at least one
};

/// Whether its logs were taken with several releases of NCCL (2.18, 2.21). Each has its own kernels,
/// thresholds and plugin settings, and with them a share of the correction of its own.
bool of_several_releases(const Calibration& calibration);

/// Logarithm of measured over law that the calibration expects.
double correction_at(const Calibration& calibration, const CorrectionPlace& place);

/// Factors on a prediction between which four in five measured times lie.
struct Band {
  double faster = 1;
  double slower = 1;
};

/// Around a calibrated prediction: the noise of a log at a measured size of a measured scale, more
/// between scales, more beyond them and outside the sizes measured there, and beyond the most nodes
/// more towards slower: only there a fabric may fill up.
Band calibrated_band(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size);

/// Whether a log was taken at this very scale.
bool is_calibrated_at(const Calibration& calibration, int nodes, int gpus_per_node);

/// Whether a log was taken at this very scale whose sizes reach around `size`.
bool is_measured_at(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size);

/// The log nearest to a scale, and to `size` where several are as near; null where there is none.
const CalibratedScale* nearest_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                   Bytes size);

/// NCCL's version in the log nearest to a scale; absent where none is known.
std::optional<NcclVersion> nearest_nccl(const Calibration& calibration, int nodes,
                                        int gpus_per_node);

/// Why a scale lies outside what was measured: "64 nodes lie beyond the calibrated range (2..16
/// nodes)"; empty within it.
std::string beyond_calibration(const Calibration& calibration, int nodes, int gpus_per_node);

}  // namespace ddpsim
