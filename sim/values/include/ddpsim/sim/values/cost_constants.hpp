// The constants of the pipeline cost model, and the one table that describes them. Cluster files,
// their schema, the fit and its printed results follow from the table. A constant that is missing
// from it does not compile.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace ddpsim {

/// Microseconds by protocol, in NCCL's index order: LL, LL128, Simple.
using ProtocolLatency = std::array<double, 3>;

/// The pipeline cost model's constants for one cluster, which hold for any number of its nodes.
struct PathConstants {
  double launch_us = 0;  ///< kernel launch and rendezvous of all ranks
  /// First round of buffer handshakes, in addition to launch_us.
  ProtocolLatency start_us{};
  ProtocolLatency local_us{};  ///< one hop between GPUs of a node
  /// One hop between nodes: proxy threads, NIC and wire.
  ProtocolLatency hop_us{};
  /// Additional time of a hop between nodes for messages from 64 KiB on.
  double rendezvous_us = 0;
  /// Additional time of a hop between nodes for each further channel, since one proxy serves all.
  double channel_us = 0;
  /// Share of the nominal rate between GPUs that carries payload.
  double local_share = 1;
  /// Share of a NIC's nominal rate that carries payload.
  double nic_share = 1;
  /// Factor on nic_share if one GPU feeds all NICs of its node.
  double single_gpu_per_node = 1;
  /// Payload in GB/s that one thread block moves with LL.
  double ll_gbps = 0;
  double ll128_gbps = 0;     ///< the same with LL128
  double nvls_start_us = 0;  ///< start_us of NVLS
  double nvls_wave_us = 0;   ///< per wave of chunks through the switch
  /// Share of the nominal rate that carries payload through the switch's reduction.
  double nvls_share = 1;
  /// Exponent: how latencies between nodes hide behind the transfer. 1: not at all.
  double overlap = 1;

  // Constants that only logs of a cluster can show; the uncalibrated cost model leaves them out.
  /// Additional start time for each further thread block.
  double per_channel_start_us = 0;
  /// Visible share of the last copy of a ring, which uses no link.
  double ring_ends = 0;
  /// Factor on nic_share for trees over three nodes and more.
  double tree_share = 1;
  /// Factor on ll_gbps between nodes, where a proxy sends LL's flags as well.
  double ll_share = 1;
  /// Logarithm of the growth of hop_us for LL and LL128 within each interval of kHopGrowth.
  std::array<double, 3> hop_growth{};
};

/// Powers of two of bytes on the wire: `hop_growth[i]` is reached from the i-th to the next.
inline constexpr std::array<double, 4> kHopGrowth{10, 12, 14, 16};

/// Range of values that a cluster file may hold.
struct ConstantRange {
  double least = 0;
  double most = 0;
  /// 0 is not allowed either, because nothing would ever arrive.
  bool positive = false;
};

/// What a fit assumes before it has seen a log. Chosen by predicting left-out job shapes, over all
/// families of public logs together.
struct ConstantPrior {
  /// Spread between clusters of one kind: one standard deviation of the logarithm. 0: not fitted.
  double deviation = 0;
  double most = 0;  ///< no fit goes beyond
  /// Expected value of a constant that the uncalibrated cost model leaves out. 0 for other
  /// constants.
  double expected = 0;
  /// The constant is itself a logarithm: the fit adds to it instead of multiplying.
  bool additive = false;
};

struct CostConstant {
  std::string_view name;  ///< as in a cluster file: "hop_us"
  /// Name within an array: "LL", "Simple". Empty if there is only one value.
  std::string_view element;
  std::string_view unit;  ///< "us", "GB/s", "share"
  /// A few words for people who have not read the cost model.
  std::string_view meaning;
  double& (*of)(PathConstants&);
  ConstantRange range;
  ConstantPrior prior{};
  /// False: older cluster files do not contain it.
  bool required = true;
};

/// Every constant, in the order of the struct. Elements of one array follow each other.
std::span<const CostConstant> cost_constants();

}  // namespace ddpsim
