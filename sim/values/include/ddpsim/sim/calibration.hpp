// What measured all-reduces say of one cluster, as its file carries it: constants of the pipeline cost model
// in place of those learned from all clusters, and a correction where cost model and measurement part.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/collective.hpp"
#include "ddpsim/sim/units.hpp"
#include "ddpsim/sim/versions.hpp"

namespace ddpsim {

/// Microseconds by protocol, in NCCL's index order: LL, LL128, Simple.
using ProtocolLatency = std::array<double, 3>;

/// The pipeline cost model's constants for one cluster, whatever its number of nodes.
struct PathConstants {
  double launch_us = 0;            ///< kernel launch and rendezvous of all ranks
  ProtocolLatency start_us{};      ///< beside it: first round of buffer handshakes
  ProtocolLatency local_us{};      ///< one hop between GPUs of a node
  ProtocolLatency hop_us{};        ///< one hop between nodes: proxy threads, NIC and wire
  double rendezvous_us = 0;        ///< more per such hop for messages from 64 KiB on
  double channel_us = 0;           ///< more per such hop and further channel: one proxy serves all
  double local_share = 1;          ///< of the nominal rate between GPUs that carries payload
  double nic_share = 1;            ///< of a NIC's nominal rate
  double single_gpu_per_node = 1;  ///< factor where one GPU feeds all NICs of its node
  double ll_gbps = 0;              ///< GB/s of payload one thread block moves with LL
  double ll128_gbps = 0;           ///< the same with LL128
  double nvls_start_us = 0;        ///< as start_us, of NVLS
  double nvls_wave_us = 0;         ///< per wave of chunks through the switch
  double nvls_share = 1;           ///< as local_share, through the switch's reduction
  double overlap = 1;              ///< how latencies between nodes hide behind the transfer

  // What only logs of a cluster tell; the uncalibrated cost model leaves it out.
  double per_channel_start_us = 0;  ///< more to start per further thread block
  double ring_ends = 0;   ///< share that is seen of the last copy of a ring, which no link carries
  double tree_share = 1;  ///< factor on nic_share for trees over three nodes and more
  double ll_share = 1;    ///< factor on ll_gbps between nodes, where a proxy sends its flags, too
  /// Logarithm by which hop_us of LL and LL128 grows with the message, over each stretch of
  /// kHopGrowth.
  std::array<double, 3> hop_growth{};
};

/// Powers of two of bytes on the wire: `hop_growth[i]` is reached from the i-th to the next.
inline constexpr std::array<double, 4> kHopGrowth{10, 12, 14, 16};

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
  OperatingPoint place;
  double weight = 0;
  double own = 0;  ///< weight in its own scale alone
};

/// One log the calibration rests on.
struct CalibratedShape {
  int nodes = 1;
  int gpus_per_node = 1;
  Bytes smallest;
  Bytes largest;
  std::string source;               ///< file name
  std::string fault;                ///< why it is distrusted, where it was fitted all the same
  std::optional<NcclVersion> nccl;  ///< with which it was fitted: printed in the log, or stated
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
  SizeSpread misfit;   ///< of the cost model alone: what a scale that nobody measured may miss by
  SizeSpread repeats;  ///< of measurements of one scale: in and out of place, and from log to log
  std::vector<CalibratedShape> scales;  ///< at least one
};

}  // namespace ddpsim
