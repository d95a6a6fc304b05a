// How long an operation of NCCL takes. There are two pure functions, which must not be mixed:
//
// - select_algorithm(kind, size, cluster, tuning) -> algorithm, protocol, channels: NCCL's own
//   table, bit for bit
// - cost(kind, choice, size, cluster) -> duration: our pipeline cost model
//
// NCCL's time estimate only selects; it does not predict.
#pragma once

#include <optional>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// NCCL settings of the user, with the name of the environment variable.
struct CollectiveTuning {
  NcclVersion nccl{};
  std::optional<AlgorithmSet> algorithms{};  ///< NCCL_ALGO; other rings ignore it
  /// NCCL_PROTO. Allows LL128 even where NCCL would not use it.
  std::optional<ProtocolSet> protocols{};
  std::optional<int> min_channels{};  ///< NCCL_MIN_NCHANNELS, for rings and trees
  std::optional<int> max_channels{};  ///< NCCL_MAX_NCHANNELS, for rings and trees
  Bytes buffer = kDefaultBuffer;      ///< NCCL_BUFFSIZE: per channel and peer, Simple's
  bool nvls = true;                   ///< NCCL_NVLS_ENABLE
  bool collnet = false;               ///< NCCL_COLLNET_ENABLE; needs switches that reduce

  static constexpr Bytes kDefaultBuffer{4 * 1'048'576};
};

struct CollectiveChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  /// Channels of this operation. Each takes one thread block (SM).
  int channels = 1;
  /// NCCL's own estimate. It selects; it is not a prediction.
  Duration nccl_estimate{};
  Bytes buffer = CollectiveTuning::kDefaultBuffer;  ///< sets the chunks of the Simple protocol
  NcclVersion nccl{};                               ///< the version that chose
  /// Limit set for the job, if it is below the channels NCCL would use; otherwise 0.
  int channel_limit = 0;
};

/// NCCL's selection for one operation over all ranks of the cluster, with `size` counted as in
/// collective.hpp. Ties go to the lower algorithm index, then protocol index, as in NCCL's loops.
/// With one rank NCCL runs no tuning: the choice is ring/Simple/1 channel with estimate 0. If the
/// tuning leaves nothing that works on this cluster, the choice is the same but with all channels;
/// see can_select_algorithm.
CollectiveChoice select_algorithm(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                  const CollectiveTuning& tuning);

/// Whether the tuning, the version and the cluster leave any algorithm and protocol for an
/// all-reduce.
bool can_select_algorithm(const Cluster& cluster, const CollectiveTuning& tuning);

/// Duration of the kernel from the last arrival to the end, without contention.
Duration cost(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
              const Cluster& cluster);

/// Most GPUs that share a root port if the number is unknown. The machines with known tables have
/// one, two, four and, with cascaded switches, eight.
inline constexpr int kMostPerRoot = 8;

/// Most heads of NVLS in a node (NCCL_MAX_NVLS_ARITY). In collectives other than all-reduces, every
/// GPU is a head.
inline constexpr int kMostNvlsHeads = 32;

/// Bounds for a PCIe node with unknown properties: whether peers reach each other, and how many
/// GPUs share a root port. They are factors on the predicted time per byte.
struct PeerEnds {
  double fastest = 1;
  double slowest = 1;
};

/// Both factors are 1 if these properties are known or no GPUs are connected by PCIe.
PeerEnds peer_ends(const Cluster& cluster);

/// A lower bound for an all-reduce by ring or tree, wherever its nodes are placed: only the data on
/// its links. It is 0 for reductions in switches and for other collectives.
Duration least_time(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                    const Cluster& cluster);

/// The operating point of an all-reduce, by which its cluster's calibration corrects it.
OperatingPoint operating_point_of(const CollectiveChoice& choice, Bytes size,
                                  const Cluster& cluster);

}  // namespace ddpsim
