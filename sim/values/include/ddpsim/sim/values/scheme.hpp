// How data-parallel training shares out parameters, gradients and optimizer: DistributedDataParallel by default, else
// another scheme. Each is a schedule over the same streams and collectives, and has a header with what a user can set of it, as
// its own library calls it, with that library's defaults. Dtypes are of elements; absent: as the parameters are.
//
// Every scheme says its name(), its facts() and its options(); groups() where it has process groups beside that of all ranks,
// all() where it has several names.
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
#include "ddpsim/sim/values/slowmo.hpp"
#include "ddpsim/sim/values/zero.hpp"
#include "ddpsim/sim/values/zero_redundancy.hpp"

namespace ddpsim {

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

/// Every scheme by each of its names, with its library's defaults.
std::vector<Scheme> known_schemes();

/// "ddp", "naive", "fsdp1": as --scheme takes it.
std::string_view name_of(const Scheme& scheme);
/// Every option with the value in force, as --scheme takes them.
std::vector<std::pair<std::string, std::string>> options_of(const Scheme& scheme);
/// Those of them that can be set. Precondition: the scheme outlives them.
std::vector<SchemeOption> options_to_set(Scheme& scheme);

SchemeFacts facts_of(const Scheme& scheme);
/// It runs DDP's reducer, with its options.
bool uses_reducer(const Scheme& scheme);
/// DDP's options; of a scheme that has none, as they are where nobody sets them.
const DdpOptions& ddp_options_of(const Scheme& scheme);
/// Null where the scheme has none.
DdpOptions* ddp_options_of(Scheme& scheme);
/// Gradients of a compiled backward come out together: of pieces of it, or of all of it.
const Compiled* compiled_pieces(const Scheme& scheme);
/// Null where nothing stays on the host.
const CpuOffload* offload_of(const Scheme& scheme);
CpuOffload* offload_of(Scheme& scheme);
/// Ranks that need a group of their own, beside all of them; none where there is none.
std::vector<int> groups_of(const Scheme& scheme, int gpus_per_node);

}  // namespace ddpsim
