// Units: parameters that a scheme keeps, gathers and reduces together. Which module holds a parameter is read off its name
// ("model.layers.7.mlp.weight" lies in model, model.layers, model.layers.7 and model.layers.7.mlp).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/scheme.hpp"
#include "recording.hpp"

namespace ddpsim {

struct Unit {
  std::string module;                   ///< path; empty: the root
  std::vector<std::size_t> parameters;  ///< its own, not an inner unit's, by definition
  std::optional<std::size_t> parent;    ///< innermost unit around it; none of the root
  std::string name() const { return module.empty() ? "root" : module; }
};

/// Units that own parameters, outer ones before inner ones, else by definition. The root comes first where it owns any.
/// By numbers of their names containers are told apart: a container of numbered modules alone is never a unit by size,
/// as PyTorch's policy has it for ModuleList; from names a Sequential looks alike. Parameters outside DDP are in none.
std::vector<Unit> units_of(const Workload& workload, const WrapPolicy& wrap);

/// The unit without its frozen parameters.
Unit trained_of(const Workload& workload, Unit unit);

/// Which parameters some gradient of the recorded backward is of.
std::vector<bool> gradients_written(const Workload& workload);
/// The units of a recorded step: a module none of whose parameters gets a gradient is taken not to be called, unless some
/// are frozen. The root is.
std::vector<Unit> units_called(const Workload& workload, const WrapPolicy& wrap);

/// Where the modules of a unit, inner units included, lie in a recorded step. Forward is taken to go through them in
/// backward's order, reversed, each in its share of backward's compute: a recording says nothing closer.
struct UnitSpan {
  double forward_begin = 0;  ///< share of forward's compute
  double forward_end = 0;
  std::size_t first = 0;  ///< gradients in the order written: first of its modules, …
  std::size_t last = 0;   ///< … last of them
  /// Of the work up to `first`, done when backward comes to its modules; and up to `last`, when it has passed them.
  double first_share = 0;
  double last_share = 1;
  bool reached = true;  ///< by backward: else nothing in it, nor in front of it, trains
};

/// The path itself and everything below it.
bool is_within(std::string_view path, std::string_view module);

/// By unit. One whose parameters get no gradient lies at the end of backward.
std::vector<UnitSpan> spans_of(const std::vector<Unit>& units, const Recording& recording);

/// Hooks of a unit, in the order in which a step calls them.
struct UnitHook {
  enum class When { before, after } when;
  std::size_t unit;
  double forward = 0;        ///< in forward: share of it that is done by then
  std::size_t gradient = 0;  ///< in backward: before, or after, it is written …
  double share = 0;          ///< … when so much of the work up to it is done
};
/// Modules are entered and left as they lie within each other.
std::vector<UnitHook> forward_hooks(const std::vector<Unit>& units,
                                    const std::vector<UnitSpan>& spans);
/// Before the first gradient of its modules, outer units first. After the last of them, inner units first, the root at the
/// end: a flat parameter's hook, too, waits for all that forward computed between its gathering and its freeing.
std::vector<UnitHook> backward_hooks(const std::vector<Unit>& units,
                                     const std::vector<UnitSpan>& spans);

}  // namespace ddpsim
