// How data-parallel training shares out parameters, gradients and optimizer: DistributedDataParallel by default, else
// another scheme. Each is a schedule over the same streams and collectives; here is what a user can set of it, as its own
// library calls it, with that library's defaults. Dtypes are of elements; absent: as the parameters are.
//
// Read in torch/nn/parallel, torch/distributed/fsdp (2.13), torch/distributed/fsdp/_fully_shard (2.13), torch/distributed/optim (2.13),
// deepspeed/runtime/zero (0.19), megatron/core/distributed, torch/_dynamo (2.13), torch/distributed/algorithms/
// model_averaging (2.13), fairscale/experimental/nn/data_parallel/gossip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ddpsim/sim/values/cpu_offload.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// DistributedDataParallel, as DdpOptions say.
struct Ddp {
  bool operator==(const Ddp&) const = default;
};

/// What lectures begin with: gradients all-reduced one by one, without buckets.
struct NaiveAllReduce {
  enum class When {
    gradient,  ///< each by a hook, as soon as it is written; all are waited for after backward
    backward,  ///< one after the other, in the order of definition, when backward is over
  };
  When when = When::gradient;
  bool flat = false;  ///< after backward, all of them copied into one tensor
  bool operator==(const NaiveAllReduce&) const = default;
};

/// Which modules become units, whose parameters travel together. What no unit holds is the root's.
struct WrapPolicy {
  enum class By {
    blocks,  ///< the elements of the outermost numbered containers that have modules of their own: "model.layers.7"
    none,    ///< the root alone
    leaves,  ///< every module that owns parameters itself
    size,    ///< size_based_auto_wrap_policy
    modules,  ///< those whose path matches, a table's layers among them
  };
  By by = By::blocks;
  std::int64_t min_num_params = 100'000'000;  ///< By::size: parameters that no inner unit holds
  std::vector<std::string>
      modules;  ///< By::modules: paths; '*' stands for anything within one name
  bool operator==(const WrapPolicy&) const = default;
};

enum class ShardingStrategy {
  full_shard,          ///< parameters, gradients and optimizer; parameters are freed after forward
  shard_grad_op,       ///< parameters stay from forward to backward
  no_shard,            ///< an all-reduce a unit
  hybrid_shard,        ///< full_shard within groups of ranks, an all-reduce of shards between them
  hybrid_shard_zero2,  ///< shard_grad_op within them
};
/// Within groups of ranks, with an all-reduce between them.
inline bool is_hybrid(ShardingStrategy strategy) {
  return strategy == ShardingStrategy::hybrid_shard ||
         strategy == ShardingStrategy::hybrid_shard_zero2;
}
enum class BackwardPrefetch { pre, post, none };

/// torch.distributed.fsdp.FullyShardedDataParallel: a flat parameter per unit, one communicator.
struct Fsdp1 {
  ShardingStrategy strategy = ShardingStrategy::full_shard;
  WrapPolicy wrap;
  std::optional<int> group;  ///< ranks that shard together, hybrid; absent: those of a node
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
  bool forward_prefetch = false;
  bool limit_all_gathers = true;
  bool use_orig_params = false;
  std::optional<Dtype> param_dtype;
  std::optional<Dtype> reduce_dtype;
  bool no_sync = true;  ///< around all micro-batches but the last
  CpuOffload offload;   ///< of both or neither
  bool operator==(const Fsdp1&) const = default;
};

/// Of one rank there is nothing to shard: PyTorch switches to NO_SHARD, and says so (_init_utils.py).
inline ShardingStrategy strategy_in_force(const Fsdp1& scheme, int ranks) {
  return ranks == 1 ? ShardingStrategy::no_shard : scheme.strategy;
}

/// torch.distributed.fsdp.fully_shard: every parameter sharded on its first dimension.
struct Fsdp2 {
  bool reshard_after_forward = true;  ///< of all but the root
  bool reshard_root = false;          ///< True passed to the root's own call
  std::optional<int> reshard_to;      ///< an integer in its place: ranks that then hold one copy
  WrapPolicy wrap;
  std::optional<int> group;  ///< ranks that shard together, of a 2-D mesh; absent: all
  std::optional<Dtype> param_dtype;
  std::optional<Dtype> reduce_dtype;
  /// All-gathers and reduce-scatters over process groups of their own; else one communicator runs them in the order issued,
  /// whatever their streams (NCCL's enqueue.cc: a launch from another stream waits for the last one).
  bool separate_groups = false;
  bool no_sync = true;  ///< set_requires_gradient_sync(False) but in the last micro-batch
  CpuOffload offload;   ///< of both or neither
  bool operator==(const Fsdp2&) const = default;
};

/// DeepSpeed's ZeRO. Sizes are in elements, as in its configuration.
struct Zero {
  int stage = 2;
  std::int64_t reduce_bucket_size = 500'000'000;
  /// As configurations name it; DeepSpeed uses it only where PyTorch has no all_gather_into_tensor: here nothing does.
  std::int64_t allgather_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;  ///< absent: in stage 3 alone
  std::optional<Dtype> param_dtype;  ///< bf16, fp16: of parameters and gradients, steps being fp32
  std::int64_t stage3_prefetch_bucket_size = 50'000'000;
  std::int64_t stage3_param_persistence_threshold = 100'000;
  std::int64_t stage3_max_live_parameters = 1'000'000'000;
  std::int64_t stage3_max_reuse_distance = 1'000'000'000;
  /// Stage 3: modules whose parameters are gathered together (set_z3_leaf_modules); by itself every module that owns any.
  WrapPolicy wrap = {.by = WrapPolicy::By::leaves, .modules = {}};
  std::optional<int> zero_hpz_partition_size;  ///< ZeRO++: ranks that hold a secondary copy
  bool zero_quantized_weights = false;         ///< ZeRO++: all-gathers of 8 bits an element
  bool zero_quantized_gradients = false;       ///< ZeRO++: gradients of 4 bits an element
  std::optional<Dtype> communication_data_type;
  CpuOffload offload = {.fused = true, .cpu_rate = kShareOfHost};  ///< parameters: in stage 3 alone
  bool operator==(const Zero&) const = default;
};

/// Megatron-Core's DistributedDataParallel with its distributed optimizer. Sizes are in parameters.
struct MegatronOptimizer {
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  std::optional<std::int64_t>
      bucket_size;  ///< absent: the larger of 40 M and 1 M a rank, where overlapped
  std::optional<Dtype> param_dtype;  ///< bf16, fp16: of parameters, steps being fp32
  bool grad_reduce_in_fp32 = false;
  bool operator==(const MegatronOptimizer&) const = default;
};

/// DDP with torch.distributed.optim.ZeroRedundancyOptimizer.
struct ZeroRedundancy {
  bool parameters_as_bucket_view = false;
  /// With hook_with_zero_step: each bucket of DDP's is one rank's, which steps it when it has been reduced and broadcasts it.
  bool overlap_with_ddp = false;
  bool operator==(const ZeroRedundancy&) const = default;
};

/// torch.nn.DataParallel: one process, a thread for each GPU of its node. A recording does not say how large a model's
/// inputs and outputs are.
struct DataParallel {
  Bytes
      inputs;  ///< of one GPU's share of the batch, where they lie on GPU 0 before they are scattered
  Bytes outputs;  ///< of one GPU's share, gathered on GPU 0 for the loss
  bool operator==(const DataParallel&) const = default;
};

/// Servers that add up the gradients of all workers and hand out what came of it (TensorFlow's variables on servers, MXNet's
/// KVStore, BytePS). A worker is a node, whose GPUs add up among themselves; or a GPU, where its own host is the server.
struct ParameterServer {
  enum class Mode {
    sync,   ///< a parameter is answered when every worker's gradient of it is there
    async,  ///< each push is applied and answered by itself
  };
  enum class Placement {
    whole,        ///< each parameter on one server, dealt out in turn as they are defined
    partitioned,  ///< cut into parts, which are dealt out so
  };
  enum class Update {
    server,  ///< the optimizer runs there: parameters are pulled
    worker,  ///< sums of gradients are pulled
  };
  enum class Pull {
    forward,   ///< at the start of the next forward, which waits for what it reads
    backward,  ///< as soon as the server has it; the step ends when all of it is there
    priority,  ///< as soon as it has it, what forward reads first in front; forward waits for what it reads
  };
  Mode mode = Mode::sync;
  std::optional<int> servers;  ///< absent: as many as workers
  bool host = false;           ///< in place of servers: the host of the one node, over PCIe
  Placement placement = Placement::whole;
  Bytes partition{4'096'000};  ///< BYTEPS_PARTITION_BYTES
  Update update = Update::server;
  Pull pull = Pull::backward;
  bool colocated = true;  ///< on the workers' nodes, whose links they share
  /// Gradients that one server adds up. Four threads, as BytePS has by default (BYTEPS_SERVER_ENGINE_THREAD), of
  /// 2 GB/s each: 1.8 to 2.2 from memory on one core of an EPYC, in parts of 4 MB; gloo's threads do as much.
  Bandwidth server_bandwidth = Bandwidth::gigabytes_per_second(8);
  bool operator==(const ParameterServer&) const = default;
};

/// torch._dynamo.config.optimize_ddp: what torch.compile does of a model wrapped in DDP. The boolean True is
/// ddp_optimizer, False no_optimization.
enum class OptimizeDdp {
  ddp_optimizer,    ///< the graph is cut where buckets would end; each piece is compiled by itself
  no_optimization,  ///< one piece
  python_reducer,   ///< compiled autograd: all-reduces are in the graph, and Inductor fuses them
};
/// DDP around a compiled model. What compiling makes of compute is not predicted: it stays as recorded.
struct Compiled {
  OptimizeDdp optimize_ddp = OptimizeDdp::ddp_optimizer;
  bool operator==(const Compiled&) const = default;
};

/// HierarchicalModelAverager: every so many steps so many ranks average their parameters, where no higher level does.
struct AveragingLevel {
  int period = 1;
  int ranks = 1;
  bool operator==(const AveragingLevel&) const = default;
};
/// Ranks step by themselves and average their parameters now and then: PeriodicModelAverager behind an optimizer,
/// without DDP.
struct PeriodicAveraging {
  int period = 4;
  std::vector<AveragingLevel>
      hierarchy{};  ///< periods and group sizes ascending, the last being of all ranks; empty: all, every `period`
  bool operator==(const PeriodicAveraging&) const = default;
};

/// fairscale's SlowMoDistributedDataParallel over local SGD: a node's ranks all-reduce gradients after backward, nodes
/// average parameters every localsgd_frequency steps, slow momentum every slowmo_frequency.
struct SlowMo {
  int localsgd_frequency = 3;
  int slowmo_frequency = 48;
  bool slowmo_memory_efficient =
      true;                    ///< momentum in shards: reduced to their owners and broadcast
  int slowmo_num_shards = 32;  ///< of it; at most as many as there are ranks
  bool operator==(const SlowMo&) const = default;
};

/// One of the schemes, with its options. A class of its own, so that what copies and destroys a scheme is compiled once,
/// not in every source that copies a job's options.
class Scheme : public std::variant<Ddp, NaiveAllReduce, Fsdp1, Fsdp2, Zero, MegatronOptimizer,
                                   ZeroRedundancy, DataParallel, ParameterServer, Compiled,
                                   PeriodicAveraging, SlowMo> {
 public:
  using variant::variant;
  Scheme();
  Scheme(const Scheme& other);
  Scheme(Scheme&& other) noexcept;
  Scheme& operator=(const Scheme& other);
  Scheme& operator=(Scheme&& other) noexcept;
  ~Scheme();
};

/// "ddp", "naive", "fsdp1", "fsdp2", "zero1", "zero2", "zero3", "megatron", "zero_redundancy", "data_parallel",
/// "parameter_server", "compiled", "local_sgd", "slowmo".
std::string_view name_of(const Scheme& scheme);
/// Every option with the value in force, as --scheme takes them.
std::vector<std::pair<std::string, std::string>> options_of(const Scheme& scheme);

std::string_view name_of(ShardingStrategy strategy);   ///< "full_shard"
std::string_view name_of(BackwardPrefetch prefetch);   ///< "pre"
std::string_view name_of(ParameterServer::Pull pull);  ///< "forward"
std::string text_of(const WrapPolicy& wrap);           ///< "blocks", "layers.*+head"
std::string_view name_of(OptimizeDdp mode);            ///< "ddp_optimizer"

/// A value that has to be stated: there is no default.
template <typename T>
struct Stated {
  constexpr Stated(T stated) : value(stated) {}
  constexpr operator T() const { return value; }
  T value;
};

/// What the rest of the program must know of a scheme. Each scheme states all of it, since no default would be true of a
/// scheme that nobody has written yet.
struct SchemeFacts {
  /// Which of its collectives no log has timed.
  enum class NotLogged { none, broadcasts_and_reduces, gathers_and_scatters };

  /// It runs DDP's reducer, with its options.
  Stated<bool> runs_reducer;
  /// Its speedup over another scheme is as sure as between two of PyTorch's own (speedup.cpp).
  Stated<bool> ranked_closely;
  /// It needs no find_unused_parameters where a parameter has no gradient.
  Stated<bool> allows_unused;
  /// Its collectives take turns, so that other traffic can be simulated beside them.
  Stated<bool> one_at_a_time;
  /// Hosts send and add up gradients; no collective has all ranks.
  Stated<bool> by_servers;
  /// `advise` may change its options.
  Stated<bool> has_settings;
  Stated<NotLogged> not_logged;
};
SchemeFacts facts_of(const Scheme& scheme);

/// It runs DDP's reducer, with its options.
bool uses_reducer(const Scheme& scheme);
/// Gradients of a compiled backward come out together: of pieces of it, or of all of it.
const Compiled* compiled_pieces(const Scheme& scheme);
/// Null where nothing stays on the host.
const CpuOffload* offload_of(const Scheme& scheme);
CpuOffload* offload_of(Scheme& scheme);
/// Ranks that need a group of their own, beside all of them; none where there is none.
std::vector<int> groups_of(const Scheme& scheme, int gpus_per_node);

}  // namespace ddpsim
