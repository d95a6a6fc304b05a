// The constants of the pipeline cost model, and the one table of what each is. Cluster files, their
// schema, the fit and its printed results follow from the table; a constant that is not in it does not
// compile.
#pragma once

#include <array>
#include <span>
#include <string_view>

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

/// What may stand in a cluster file.
struct ConstantRange {
  double least = 0;
  double most = 0;
  bool positive = false;  ///< 0 is not possible either: nothing would ever arrive
};

/// What a fit believes before it has seen a log. Chosen by what job shapes left out showed, over all
/// families of open logs together.
struct ConstantPrior {
  /// How far clusters of one kind lie apart: one standard deviation, logarithmic. 0: not fitted.
  double deviation = 0;
  double most = 0;        ///< no fit goes beyond
  double expected = 0;    ///< where the uncalibrated cost model leaves it out; 0: where it does not
  bool additive = false;  ///< is a logarithm itself: the fit adds to it instead of multiplying
};

struct CostConstant {
  std::string_view name;     ///< as in a cluster file: "hop_us"
  std::string_view element;  ///< of an array: "LL", "Simple"; empty where there is one value only
  std::string_view unit;     ///< "us", "GB/s", "share"
  std::string_view meaning;  ///< a few words for people who have not read the cost model
  double& (*of)(PathConstants&);
  ConstantRange range;
  ConstantPrior prior{};
  bool required = true;  ///< older cluster files lack it otherwise
};

/// Every constant, in the order of the struct; elements of one array stand side by side.
std::span<const CostConstant> cost_constants();

}  // namespace ddpsim
