// What a collective costs. Two pure functions, never mixed:
//
//   choose(kind, size, cluster, tuning) -> algorithm, protocol, channels
//       NCCL's own table, bit for bit
//   cost(kind, choice, size, cluster) -> duration
//       our pipeline law
//
// NCCL's time estimate selects; it does not predict. A CollectiveModel bundles the two (or replaces
// them) as a value the step simulator asks once per collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "ddpsim/sim/background.hpp"
#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/gloo.hpp"
#include "ddpsim/sim/time_scale.hpp"
#include "ddpsim/sim/units.hpp"
#include "ddpsim/sim/versions.hpp"

namespace ddpsim {

enum class CollectiveKind { all_reduce, broadcast };
/// In NCCL's index order. Its last one, PAT, reduces nothing and is left out.
enum class Algorithm {
  tree,            ///< double binary tree over the nodes, a chain inside each
  ring,            ///< one ring per channel through all ranks
  collnet_direct,  ///< the network's switches reduce; every GPU talks to the heads of its node
  collnet_chain,   ///< the network's switches reduce; a chain inside each node
  nvls,            ///< the NVSwitches of one node reduce
  nvls_tree,       ///< the NVSwitches reduce inside nodes, a double binary tree between them
};
enum class Protocol { ll, ll128, simple };  // in NCCL's index order
inline constexpr int kAlgorithms = 6;
inline constexpr int kProtocols = 3;

std::string_view name_of(Algorithm algorithm);  ///< "tree", "ring", "collnetdirect", …, "nvlstree"
std::string_view name_of(Protocol protocol);    ///< "LL", "LL128", "Simple"

/// As people and NCCL write them: "Ring", "NVLS_TREE", "ll128"; case and underscores mean nothing.
std::optional<Algorithm> parse_algorithm(std::string_view word);
std::optional<Protocol> parse_protocol(std::string_view word);

/// Enumerators that are allowed. One alone converts: `.algorithms = Algorithm::ring`.
template <typename Enum, int kCount>
class SetOf {
 public:
  constexpr SetOf() = default;
  constexpr SetOf(Enum only) { add(only); }  // NOLINT(google-explicit-constructor)
  static constexpr SetOf all() {
    SetOf set;
    set.bits_ = (1U << kCount) - 1;
    return set;
  }
  constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  constexpr void add(Enum value) { bits_ |= bit(value); }
  constexpr void remove(Enum value) { bits_ &= ~bit(value); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const SetOf&) const = default;

 private:
  static constexpr unsigned bit(Enum value) { return 1U << static_cast<unsigned>(value); }
  unsigned bits_ = 0;
};
using AlgorithmSet = SetOf<Algorithm, kAlgorithms>;
using ProtocolSet = SetOf<Protocol, kProtocols>;

/// What a user can set of NCCL, by the name of its environment variable.
struct CollectiveTuning {
  NcclVersion nccl{};
  std::optional<AlgorithmSet> algorithms{};  ///< NCCL_ALGO; broadcasts ignore it
  std::optional<ProtocolSet> protocols{};    ///< NCCL_PROTO; lists LL128 even where NCCL would not
  std::optional<int> min_channels{};         ///< NCCL_MIN_NCHANNELS, of rings and trees
  std::optional<int> max_channels{};         ///< NCCL_MAX_NCHANNELS, of rings and trees
  Bytes buffer = kDefaultBuffer;             ///< NCCL_BUFFSIZE: per channel and peer, Simple's
  bool nvls = true;                          ///< NCCL_NVLS_ENABLE
  bool collnet = false;                      ///< NCCL_COLLNET_ENABLE; needs switches that reduce

  static constexpr Bytes kDefaultBuffer{4 * 1'048'576};
};

struct CollectiveChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;          ///< channels this operation uses; one thread block (SM) each
  Duration nccl_estimate{};  ///< NCCL's own time for it: a selector, not a prediction
  Bytes buffer = CollectiveTuning::kDefaultBuffer;  ///< sets the chunks of the Simple protocol
  NcclVersion nccl{};                               ///< that chose
};

/// NCCL's selection for one operation of `size` bytes per rank over all ranks of the cluster.
/// Ties go to the lower algorithm index, then protocol index, as in NCCL's loops. With one rank
/// NCCL runs no tuning: the choice is ring/Simple/1 channel with estimate 0. So it is, with all
/// channels, where the tuning leaves nothing that works on this cluster; see can_choose.
CollectiveChoice choose(CollectiveKind kind, Bytes size, const Cluster& cluster,
                        const CollectiveTuning& tuning);

/// Whether an all-reduce has any algorithm and protocol left that the version and the cluster allow.
bool can_choose(const Cluster& cluster, const CollectiveTuning& tuning);

/// Duration of the kernel from the last arrival to the end, without contention.
Duration cost(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
              const Cluster& cluster);

/// Where an all-reduce stands in the calibration of its cluster.
CorrectionPlace place_of(const CollectiveChoice& choice, Bytes size, const Cluster& cluster);

/// choose, then cost, on an idle network.
struct AnalyticModel {
  Cluster cluster;
  CollectiveTuning tuning;
  TimeScale scale{};
};

/// Recorded durations by position in launch order, wait and transfer together; replays a trace.
struct RecordedModel {
  std::vector<Duration> durations;
  int channels = 0;  ///< of the recorded kernels; 0 where not known: they slow nothing
};

/// Collectives take no time and no SMs: the lower bound.
struct FreeModel {};

class FlowPlanner;

/// choose, then the pipeline chunk by chunk over the links of a fabric, beside background traffic.
/// Algorithms the fabric has no channels for take what the law says.
struct FlowModel : AnalyticModel {
  std::shared_ptr<FlowPlanner> network;
};
FlowModel flow_model(const Cluster& cluster, const CollectiveTuning& tuning, Fabric fabric,
                     const Background& background = {});

using CollectiveModel = std::variant<AnalyticModel, RecordedModel, FreeModel, FlowModel, GlooModel>;

/// The part of a model that chooses algorithms for a cluster; none where nothing is chosen.
const AnalyticModel* chooser_of(const CollectiveModel& model);
AnalyticModel* chooser_of(CollectiveModel& model);
/// Factors on the times the model predicts; none where it predicts nothing.
TimeScale* time_scale_of(CollectiveModel& model);

struct CollectivePlan {
  Duration transfer;                       ///< last arrival to end, without background traffic
  std::optional<CollectiveChoice> choice;  ///< absent where the model does not choose
  int channels = 0;                        ///< SMs the kernel holds while it is resident
  Duration volume{};                       ///< the part of the transfer in which links are busy
  Duration to_host{};                      ///< copy of the tensor before it can begin …
  Duration to_device{};                    ///< … and back after its end; none by NCCL
};

/// Collectives that fill the links when as many run beside each other; 1: one alone does. Over sockets
/// one communicator of NCCL does not.
double collectives_to_fill(const CollectiveModel& model);
/// Collectives one process group runs at a time.
int collectives_at_a_time(const CollectiveModel& model);

/// Plan of the `index`-th collective of its kind in the step.
CollectivePlan plan(const CollectiveModel& model, CollectiveKind kind, Bytes size,
                    std::size_t index);

}  // namespace ddpsim
