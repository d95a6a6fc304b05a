// How data-parallel training shares out parameters, gradients and optimizer:
// DistributedDataParallel by default, otherwise another scheme. Each scheme is a schedule over the
// same streams and collectives. Its header lists its settings with the names and defaults of its
// own library. A dtype is that of the elements; if absent, it is the parameters' own.
//
// Every scheme has name(), facts() and options(). It also has groups() if it uses process groups
// other than the one of all ranks, and all() if it has several names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ddpsim/sim/values/compiled.hpp"
#include "ddpsim/sim/values/data_parallel.hpp"
#include "ddpsim/sim/values/ddp.hpp"
#include "ddpsim/sim/values/fsdp1.hpp"
#include "ddpsim/sim/values/fsdp2.hpp"
#include "ddpsim/sim/values/megatron_optimizer.hpp"
#include "ddpsim/sim/values/naive_all_reduce.hpp"
#include "ddpsim/sim/values/parameter_server.hpp"
#include "ddpsim/sim/values/periodic_averaging.hpp"
#include "ddpsim/sim/values/replicate.hpp"
#include "ddpsim/sim/values/slowmo.hpp"
#include "ddpsim/sim/values/zero.hpp"
#include "ddpsim/sim/values/zero_redundancy.hpp"

namespace ddpsim {

/// One of the schemes, with its options. It is a class rather than an alias so that the code that
/// copies and destroys a scheme is compiled once, not in every source that copies a job's options.
class Scheme : public std::variant<Ddp, NaiveAllReduce, Fsdp1, Fsdp2, Replicate, Zero,
                                   MegatronOptimizer, ZeroRedundancy, DataParallel, ParameterServer,
                                   Compiled, PeriodicAveraging, SlowMo> {
 public:
  using variant::variant;
  Scheme();
  Scheme(const Scheme& other);
  Scheme(Scheme&& other) noexcept;
  Scheme& operator=(const Scheme& other);
  Scheme& operator=(Scheme&& other) noexcept;
  ~Scheme();
};

/// Returns every scheme under each of its names, with its library's defaults.
std::vector<Scheme> known_schemes();

/// The name that --scheme takes: "ddp", "naive", "fsdp1".
std::string_view name_of(const Scheme& scheme);
/// Every option with the value in force, in the form that --scheme takes.
std::vector<std::pair<std::string, std::string>> options_of(const Scheme& scheme);
/// The options that can be set. Precondition: the scheme outlives them.
std::vector<SchemeOption> options_to_set(Scheme& scheme);

SchemeFacts facts_of(const Scheme& scheme);
/// Whether the scheme runs DDP's reducer, with its options.
bool uses_reducer(const Scheme& scheme);
/// DDP's options, or the defaults if the scheme has none.
const DdpOptions& ddp_options_of(const Scheme& scheme);
/// DDP's options; null if the scheme has none.
DdpOptions* ddp_options_of(Scheme& scheme);
/// Non-null if the backward is compiled and hands its gradients to DDP's reducer piece by piece.
const Compiled* compiled_pieces(const Scheme& scheme);
/// Null if nothing stays on the host.
const CpuOffload* offload_of(const Scheme& scheme);
CpuOffload* offload_of(Scheme& scheme);
/// Sizes in ranks of the process groups that the scheme needs in addition to the group of all
/// ranks.
std::vector<int> groups_of(const Scheme& scheme, int gpus_per_node);

}  // namespace ddpsim
