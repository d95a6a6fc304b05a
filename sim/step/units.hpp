// FSDP units: parameters that a scheme keeps, gathers and reduces together. A parameter's name
// shows which modules contain it ("model.layers.7.mlp.weight" lies in model, model.layers,
// model.layers.7 and model.layers.7.mlp).
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
  std::string module;  ///< path; empty: the root
  /// Parameters without those of inner units, in the order of definition.
  std::vector<std::size_t> parameters;
  /// Innermost unit that contains this one. Absent for the root.
  std::optional<std::size_t> parent;
  std::string name() const { return module.empty() ? "root" : module; }
};

/// Units that own parameters: outer ones before inner ones, otherwise in the order of definition.
/// The root comes first if it owns any. Parameters outside DDP are in no unit.
///
/// A container whose modules all have numbers as names is never a unit by size, as in PyTorch's
/// policy for ModuleList. Names cannot distinguish it from a Sequential.
std::vector<Unit> units_of(const Workload& workload, const WrapPolicy& wrap);

/// Returns the unit without its frozen parameters.
Unit trained_of(const Workload& workload, Unit unit);

/// For each parameter, whether the recorded backward wrote a gradient of it.
std::vector<bool> gradients_written(const Workload& workload);
/// The units that a recorded step called. A module is assumed not to be called if none of its
/// parameters gets a gradient and none is frozen. The root is always called.
std::vector<Unit> units_called(const Workload& workload, const WrapPolicy& wrap);

/// When the modules of a unit, including inner units, run in a recorded step. Forward is assumed to
/// call modules in the reverse order of backward, each with its share of backward's compute,
/// because a recording shows nothing better.
struct UnitSpan {
  double forward_begin = 0;  ///< share of forward's compute
  double forward_end = 0;
  /// First gradient of its modules, in the order in which gradients are written.
  std::size_t first = 0;
  std::size_t last = 0;  ///< last gradient of its modules
  /// Share of the work up to `first` that is done when backward reaches its modules.
  double first_share = 0;
  /// Share of the work up to `last` that is done when backward has passed them.
  double last_share = 1;
  /// Whether backward reaches the unit. False if neither the unit nor any before it has trainable
  /// parameters.
  bool reached = true;
};

/// Whether `path` is `module` or lies below it.
bool is_within(std::string_view path, std::string_view module);

/// One span for each unit. A unit without gradients lies at the end of backward.
std::vector<UnitSpan> spans_of(const std::vector<Unit>& units, const Recording& recording);

/// A hook of a unit, in the order in which a step calls hooks.
struct UnitHook {
  enum class When { before, after } when;
  std::size_t unit;
  /// In forward: share of forward that is done when the hook runs.
  double forward = 0;
  /// In backward: the gradient before or after which the hook runs.
  std::size_t gradient = 0;
  /// Share of the work up to that gradient that is done by then.
  double share = 0;
};
/// Hooks of forward. Modules are entered and left as they are nested.
std::vector<UnitHook> forward_hooks(const std::vector<Unit>& units,
                                    const std::vector<UnitSpan>& spans);
/// Hooks of backward: before the first gradient of a unit's modules (outer units first), and after
/// the last one (inner units first, the root at the end). This also holds for the hook of a flat
/// parameter. Its gradient is complete only when backward has passed all that forward computed
/// between its gathering and its freeing.
std::vector<UnitHook> backward_hooks(const std::vector<Unit>& units,
                                     const std::vector<UnitSpan>& spans);

}  // namespace ddpsim
