// torch.compile around or within DDP (torch/_dynamo, 2.13).
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// torch._dynamo.config.optimize_ddp: what torch.compile does of a model wrapped in DDP. The boolean True is
/// ddp_optimizer, False no_optimization.
enum class OptimizeDdp {
  ddp_optimizer,    ///< the graph is cut where buckets would end; each piece is compiled by itself
  no_optimization,  ///< one piece
  python_reducer,   ///< compiled autograd: all-reduces are in the graph, and Inductor fuses them
};
std::string_view name_of(OptimizeDdp mode);  ///< "ddp_optimizer"

/// DDP around a compiled model. What compiling makes of compute is not predicted: it stays as recorded.
struct Compiled {
  OptimizeDdp optimize_ddp = OptimizeDdp::ddp_optimizer;
  DdpOptions ddp = {};

  std::string_view name() const { return "compiled"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  /// Gradients come out of backward in pieces, which DDP's reducer takes: not python_reducer's.
  bool in_pieces() const { return optimize_ddp != OptimizeDdp::python_reducer; }

  bool operator==(const Compiled&) const = default;
};

}  // namespace ddpsim
