#include "units.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "ddpsim/sim/values/module_path.hpp"
#include "module_times.hpp"

namespace ddpsim {
namespace {

bool is_number(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// Module of a parameter: "model.layers.7" for "model.layers.7.weight", empty for "weight".
std::string_view module_of(std::string_view parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
}

std::string_view last_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? path : path.substr(dot + 1);
}

using Paths = std::set<std::string, std::less<>>;

/// Elements of the outermost numbered containers. A container has several elements, which contain
/// modules.
Paths blocks_of(const Workload& workload) {
  std::map<std::string_view, std::set<std::string_view>> elements;  // by container
  std::set<std::string_view> with_modules;
  for (const Parameter& parameter : workload.parameters) {
    const std::string_view module = module_of(parameter.name);
    for (const std::string_view path : modules_around(module)) {
      if (!is_number(last_name(path))) continue;
      const std::string_view container = module_of(path);
      elements[container].insert(path);
      if (module.size() > path.size()) with_modules.insert(container);
      break;
    }
  }
  Paths blocks;
  for (const auto& [container, paths] : elements)
    if (paths.size() > 1 && with_modules.contains(container))
      for (const std::string_view path : paths) blocks.emplace(path);
  return blocks;
}

Paths matching(const Workload& workload, const std::vector<std::string>& patterns) {
  Paths found;
  for (const Parameter& parameter : workload.parameters)
    for (const std::string_view path : modules_around(parameter.name))
      if (std::ranges::any_of(
              patterns, [&](const std::string& pattern) { return matches_path(path, pattern); }))
        found.emplace(path);
  return found;
}

/// size_based_auto_wrap_policy by _recursive_wrap (torch/distributed/fsdp/wrap.py).
class BySize {
 public:
  BySize(const Workload& workload, std::int64_t least) : least_(least) {
    for (const Parameter& parameter : workload.parameters) {
      if (parameter.ignored) continue;
      const std::int64_t elements =
          gradient_bytes(parameter).value_or(Bytes()).count() / element_size(parameter.dtype);
      Module* at = &root_;
      at->elements += elements;
      for (const std::string_view path : modules_around(module_of(parameter.name))) {
        at = &child_of(*at, path);
        at->elements += elements;
      }
      at->is_attention = at->is_attention || last_name(parameter.name) == "in_proj_weight";
    }
    wrap(root_, true);
  }
  Paths take() { return std::move(units_); }

 private:
  struct Module {
    std::string path;
    std::int64_t elements = 0;
    /// A torch.nn.MultiheadAttention, which is never split.
    bool is_attention = false;
    std::vector<Module> children;
  };

  static Module& child_of(Module& module, std::string_view path) {
    const auto known = std::ranges::find(module.children, path, &Module::path);
    if (known != module.children.end()) return *known;
    module.children.push_back({.path = std::string(path), .children = {}});
    return module.children.back();
  }

  /// Returns the elements that units within the module hold.
  std::int64_t wrap(const Module& module, bool is_root) {
    if (module.elements < least_ || module.is_attention) return 0;
    std::int64_t held = 0;
    for (const Module& child : module.children) held += wrap(child, false);
    const bool is_list =
        !module.children.empty() && std::ranges::all_of(module.children, [](const Module& child) {
          return is_number(last_name(child.path));
        });
    if (is_root || is_list || module.elements - held < least_) return held;
    units_.insert(module.path);
    return module.elements;
  }

  std::int64_t least_;
  Module root_;
  Paths units_;
};

Paths owners_of(const Workload& workload) {
  Paths owners;
  for (const Parameter& parameter : workload.parameters)
    if (const std::string_view module = module_of(parameter.name); !module.empty())
      owners.emplace(module);
  return owners;
}

Paths modules_of(const Workload& workload, const WrapPolicy& wrap) {
  switch (wrap.by) {
    case WrapPolicy::By::blocks:
      return blocks_of(workload);
    case WrapPolicy::By::none:
      break;
    case WrapPolicy::By::leaves:
      return owners_of(workload);
    case WrapPolicy::By::size:
      return BySize(workload, wrap.min_num_params).take();
    case WrapPolicy::By::modules:
      return matching(workload, wrap.modules);
  }
  return {};
}

std::string innermost(std::string_view module, const Paths& paths) {
  std::string found;
  for (const std::string_view path : modules_around(module))
    if (paths.contains(path)) found = path;
  return found;
}

/// Notes for each unit the innermost unit that contains it.
void note_parents(std::vector<Unit>& units) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    units[u].parent.reset();
    for (std::size_t v = 0; v < units.size(); ++v)
      if (u != v && is_within(units[u].module, units[v].module) &&
          (!units[u].parent || units[v].module.size() > units[*units[u].parent].module.size()))
        units[u].parent = v;
  }
}

}  // namespace

bool is_within(std::string_view path, std::string_view module) {
  return module.empty() || path == module ||
         (path.size() > module.size() && path.starts_with(module) && path[module.size()] == '.');
}

std::vector<Unit> units_of(const Workload& workload, const WrapPolicy& wrap) {
  const Paths paths = modules_of(workload, wrap);
  std::vector<Unit> units;
  std::map<std::string, std::size_t> known;
  const auto add = [&](const std::string& module) {
    const auto [at, is_new] = known.try_emplace(module, units.size());
    if (is_new) units.push_back({.module = module, .parameters = {}, .parent = {}});
    return at->second;
  };
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    if (workload.parameters[p].ignored) continue;
    const std::string module = innermost(workload.parameters[p].name, paths);
    units[add(module)].parameters.push_back(p);
  }
  std::ranges::stable_sort(units, {}, [](const Unit& unit) {
    return unit.module.empty() ? std::int64_t{-1}
                               : static_cast<std::int64_t>(std::ranges::count(unit.module, '.'));
  });
  note_parents(units);
  return units;
}

Unit trained_of(const Workload& workload, Unit unit) {
  std::erase_if(unit.parameters, [&](std::size_t p) { return workload.parameters[p].frozen; });
  return unit;
}

std::vector<bool> gradients_written(const Workload& workload) {
  std::vector<bool> written(workload.parameters.size(), false);
  if (workload.backward)
    for (const ReadyEvent& event : workload.backward->ready) written[event.parameter] = true;
  return written;
}

std::vector<Unit> units_called(const Workload& workload, const WrapPolicy& wrap) {
  std::vector<Unit> units = units_of(workload, wrap);
  const std::vector<bool> written = gradients_written(workload);
  const auto is_used = [&](std::size_t parameter) {
    return written[parameter] || workload.parameters[parameter].frozen;
  };
  Paths called;
  for (const Unit& unit : units) {
    if (std::ranges::none_of(unit.parameters, is_used)) continue;
    for (const std::string_view path : modules_around(unit.module)) called.emplace(path);
  }
  const auto is_called = [&](const Unit& unit) {
    return unit.module.empty() || called.contains(unit.module);
  };
  if (std::ranges::all_of(units, is_called)) return units;
  std::erase_if(units, [&](const Unit& unit) { return !is_called(unit); });
  note_parents(units);
  return units;
}

std::vector<UnitSpan> spans_of(const std::vector<Unit>& units, const Recording& recording) {
  const std::size_t gradients = recording.gradients();
  std::map<std::size_t, std::size_t> written;  // by parameter
  std::vector<double> done = {0};              // compute of backward after k gradients
  for (std::size_t k = 0; k < gradients; ++k) {
    const GradientInterval gradient = recording.gradient(k);
    written[gradient.parameter] = k;
    done.push_back(done.back() + (gradient.compute + gradient.idle).seconds());
  }
  const double all = done.back() + recording.after_last_gradient().seconds();
  const auto left_after = [&](std::size_t gradients_written) {
    return all > 0 ? 1 - done[gradients_written] / all : 0.0;
  };
  std::vector<UnitSpan> spans;
  for (const Unit& unit : units) {
    UnitSpan span{.first = gradients - 1};
    std::size_t last_own = unit.parameters.empty() ? 0 : gradients - 1;
    bool any = false;
    for (const Unit& inner : units) {
      if (!is_within(inner.module, unit.module)) continue;
      for (const std::size_t parameter : inner.parameters) {
        const auto at = written.find(parameter);
        if (at == written.end()) continue;
        if (&inner == &unit) last_own = any ? std::max(last_own, at->second) : at->second;
        if (&inner == &unit) any = true;
        span.first = std::min(span.first, at->second);
        span.last = std::max(span.last, at->second);
      }
    }
    span.last = std::max(span.last, last_own);
    if (unit.module.empty()) {
      span.first = 0;
      span.last = gradients - 1;
    }
    span.forward_begin = unit.module.empty() ? 0 : left_after(span.last + 1);
    span.forward_end = unit.module.empty() ? 1 : left_after(span.first);
    spans.push_back(span);
  }
  return by_module_times(units, recording, std::move(spans));
}

std::vector<UnitHook> forward_hooks(const std::vector<Unit>& units,
                                    const std::vector<UnitSpan>& spans) {
  std::vector<std::size_t> order;
  for (std::size_t u = 0; u < units.size(); ++u) order.push_back(u);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (spans[a].forward_begin != spans[b].forward_begin)
      return spans[a].forward_begin < spans[b].forward_begin;
    return spans[a].last > spans[b].last;
  });
  std::vector<UnitHook> hooks;
  std::vector<std::size_t> open;
  const auto leave = [&] {
    hooks.push_back({UnitHook::When::after, open.back(), spans[open.back()].forward_end});
    open.pop_back();
  };
  for (const std::size_t u : order) {
    while (!open.empty() && !is_within(units[u].module, units[open.back()].module)) leave();
    hooks.push_back({UnitHook::When::before, u, spans[u].forward_begin});
    open.push_back(u);
  }
  while (!open.empty()) leave();
  return hooks;
}

std::vector<UnitHook> backward_hooks(const std::vector<Unit>& units,
                                     const std::vector<UnitSpan>& spans) {
  std::vector<UnitHook> hooks;
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (!spans[u].reached) continue;
    hooks.push_back({UnitHook::When::before, u, 0, spans[u].first, spans[u].first_share});
    hooks.push_back({UnitHook::When::after, u, 0, spans[u].last, spans[u].last_share});
  }
  std::ranges::stable_sort(hooks, [](const UnitHook& a, const UnitHook& b) {
    if (a.gradient != b.gradient) return a.gradient < b.gradient;
    if (a.share != b.share) return a.share < b.share;
    if (a.when != b.when) return a.when == UnitHook::When::after;  // of the frozen unit behind it
    // Units are listed outer ones first.
    return a.when == UnitHook::When::before ? a.unit < b.unit : a.unit > b.unit;
  });
  return hooks;
}

}  // namespace ddpsim
