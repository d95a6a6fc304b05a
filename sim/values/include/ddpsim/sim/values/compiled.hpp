// torch.compile around or within DDP (torch/_dynamo, 2.13).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// torch._dynamo.config.optimize_ddp: what torch.compile does with a model wrapped in DDP. The
/// boolean True means ddp_optimizer, False means no_optimization.
enum class OptimizeDdp {
  /// The graph is cut where buckets would end, and each piece is compiled by itself.
  ddp_optimizer,
  no_optimization,  ///< the graph is one piece
  /// Compiled autograd: the all-reduces are part of the graph, and Inductor fuses them.
  python_reducer,
};
std::string_view name_of(OptimizeDdp mode);  ///< "ddp_optimizer"

/// DDP around a compiled model. ddpsim does not predict how compiling changes compute: compute
/// stays as recorded.
struct Compiled {
  OptimizeDdp optimize_ddp = OptimizeDdp::ddp_optimizer;
  DdpOptions ddp = {};

  std::string_view name() const { return "compiled"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  /// Whether gradients come out of backward in pieces and go to DDP's reducer. Only python_reducer
  /// does otherwise.
  bool in_pieces() const { return optimize_ddp != OptimizeDdp::python_reducer; }

  bool operator==(const Compiled&) const = default;
};

}  // namespace ddpsim
