// What a collective costs. Two pure functions, never mixed:
//
//   choose(kind, size, cluster, tuning) -> algorithm, protocol, channels
//       NCCL's own table, bit for bit
//   cost(kind, choice, size, cluster) -> duration
//       our pipeline law
//
// NCCL's time estimate selects; it does not predict. A CollectiveModel bundles the two (or replaces
// them) as a value the step simulator asks once per collective. NVLS and CollNet join here as
// further enumerators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "ddpsim/sim/background.hpp"
#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/units.hpp"
#include "ddpsim/sim/versions.hpp"

namespace ddpsim {

enum class CollectiveKind { all_reduce, broadcast };
enum class Algorithm { tree, ring };        // in NCCL's index order
enum class Protocol { ll, ll128, simple };  // in NCCL's index order

std::string_view name_of(Algorithm algorithm);  ///< "tree", "ring"
std::string_view name_of(Protocol protocol);    ///< "LL", "LL128", "Simple"

struct CollectiveTuning {
  NcclVersion nccl{};
  std::optional<Algorithm> algorithm{};  ///< NCCL_ALGO: forced
  std::optional<Protocol> protocol{};    ///< NCCL_PROTO: forced
};

struct CollectiveChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;        ///< channels this operation uses; one thread block (SM) each
  Duration nccl_estimate;  ///< NCCL's own time for it: a selector, not a prediction
};

/// NCCL's selection for one operation of `size` bytes per rank over all ranks of the cluster.
/// Ties go to the lower algorithm index, then protocol index, as in NCCL's loops. With one rank
/// NCCL runs no tuning: the choice is ring/Simple/1 channel with estimate 0.
CollectiveChoice choose(CollectiveKind kind, Bytes size, const Cluster& cluster,
                        const CollectiveTuning& tuning);

/// Duration of the kernel from the last arrival to the end, without contention.
Duration cost(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
              const Cluster& cluster);

/// choose, then cost, on an idle network.
struct AnalyticModel {
  Cluster cluster;
  CollectiveTuning tuning;
  double duration_scale = 1;  ///< named uncertainty: every transfer times this factor
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

using CollectiveModel = std::variant<AnalyticModel, RecordedModel, FreeModel, FlowModel>;

/// The part of a model that chooses algorithms for a cluster; none where nothing is chosen.
const AnalyticModel* chooser_of(const CollectiveModel& model);
AnalyticModel* chooser_of(CollectiveModel& model);

struct CollectivePlan {
  Duration transfer;                       ///< last arrival to end, without background traffic
  std::optional<CollectiveChoice> choice;  ///< absent where the model does not choose
  int channels = 0;                        ///< SMs the kernel holds while it is resident
};

/// Plan of the `index`-th collective of its kind in the step.
CollectivePlan plan(const CollectiveModel& model, CollectiveKind kind, Bytes size,
                    std::size_t index);

}  // namespace ddpsim
