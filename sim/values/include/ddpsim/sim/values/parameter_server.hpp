// Training through parameter servers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// Training through servers that add up the gradients of all workers and hand out the result
/// (TensorFlow's variables on servers, MXNet's KVStore, BytePS). A worker is a node, whose GPUs
/// first add up among themselves. If the workers' own host is the server, each worker is one GPU.
struct ParameterServer {
  enum class Mode {
    /// A server answers for a parameter when the gradients of all workers have arrived.
    sync,
    async,  ///< each push is applied and answered separately
  };
  enum class Placement {
    /// Each parameter lies on one server, dealt out in turn in the order of definition.
    whole,
    /// Parameters are cut into parts, which are dealt out in the same way.
    partitioned,
  };
  enum class Update {
    server,  ///< the optimizer runs there; parameters are pulled
    worker,  ///< sums of gradients are pulled
  };
  enum class Pull {
    /// At the start of the next forward, which waits for what it reads.
    forward,
    /// As soon as the server has the result. The step ends when all of it has arrived.
    backward,
    /// As soon as the server has the result, first what forward reads first. Forward waits for what
    /// it reads.
    priority,
  };
  Mode mode = Mode::sync;
  std::optional<int> servers;  ///< absent: as many as workers
  /// The host of the one node, over PCIe, replaces the servers.
  bool host = false;
  Placement placement = Placement::whole;
  Bytes partition{4'096'000};  ///< BYTEPS_PARTITION_BYTES
  Update update = Update::server;
  Pull pull = Pull::backward;
  /// Servers run on the workers' nodes and share their links.
  bool colocated = true;
  /// Rate at which one server adds up gradients. Default: four threads, as in BytePS
  /// (BYTEPS_SERVER_ENGINE_THREAD), of 2 GB/s each. One core of an EPYC reaches 1.8 to 2.2 from
  /// memory, in parts of 4 MB; gloo's threads reach as much.
  Bandwidth server_bandwidth = Bandwidth::gigabytes_per_second(8);

  std::string_view name() const { return "parameter_server"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const ParameterServer&) const = default;
};

std::string_view name_of(ParameterServer::Pull pull);  ///< "forward"

}  // namespace ddpsim
