// Training through parameter servers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

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

  std::string_view name() const { return "parameter_server"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const ParameterServer&) const = default;
};

std::string_view name_of(ParameterServer::Pull pull);  ///< "forward"

}  // namespace ddpsim
