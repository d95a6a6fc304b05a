#include "zero3_modules.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "gradient_buckets.hpp"
#include "unit_sizes.hpp"

namespace ddpsim {
namespace {

std::string outer_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? std::string() : path.substr(0, dot);
}

bool is_numbered(const std::string& path) {
  const std::string name = path.substr(path.rfind('.') + 1);
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// By module: the parameters it owns itself, or everything below it for a module of `wrap`.
std::map<std::string, std::vector<std::size_t>> owners_of(const Workload& workload,
                                                          const WrapPolicy& wrap) {
  std::map<std::string, std::vector<std::size_t>> owners;
  const std::vector<Unit> units = units_of(workload, wrap);
  for (const Unit& unit : units) {
    const Unit* outermost = &unit;
    while (outermost->parent && !units[*outermost->parent].module.empty())
      outermost = &units[*outermost->parent];
    const bool apart = unit.module.empty() && wrap.by != WrapPolicy::By::none;
    for (const std::size_t parameter : unit.parameters)
      owners[apart ? outer_of(workload.parameters[parameter].name) : outermost->module].push_back(
          parameter);
  }
  for (auto& [module, parameters] : owners) std::ranges::sort(parameters);
  return owners;
}

}  // namespace

std::vector<Unit> zero3_modules(const Workload& workload, const WrapPolicy& wrap) {
  std::map<std::string, std::vector<std::size_t>> modules = owners_of(workload, wrap);
  // Containers. True if all their modules are numbered and contain modules themselves.
  std::map<std::string, bool> lists;
  std::vector<std::string> owning;
  for (const auto& [module, parameters] : modules) owning.push_back(module);
  for (const std::string& owner : owning)
    for (std::string inner = owner; !inner.empty(); inner = outer_of(inner)) {
      const std::string outer = outer_of(inner);
      modules.try_emplace(outer);
      if (outer.empty()) break;
      const bool has_inner = inner != owner;
      auto [at, is_new] = lists.try_emplace(outer, is_numbered(inner) && has_inner);
      at->second = at->second && is_numbered(inner) && has_inner;
    }
  modules.try_emplace("");
  std::vector<Unit> units;
  for (auto& [module, parameters] : modules) {
    const auto list = lists.find(module);
    if (parameters.empty() && list != lists.end() && list->second && !is_numbered(module)) continue;
    units.push_back({.module = module, .parameters = std::move(parameters), .parent = {}});
  }
  std::ranges::stable_sort(units, {}, [](const Unit& unit) {
    return unit.module.empty() ? std::int64_t{-1}
                               : static_cast<std::int64_t>(std::ranges::count(unit.module, '.'));
  });
  return units;
}

std::vector<std::size_t> zero3_order(const Workload& workload) {
  std::vector<std::size_t> order = parameters_as_written(workload);
  for (std::size_t k = 0; k + 1 < order.size(); ++k) {
    const Parameter& bias = workload.parameters[order[k]];
    const Parameter& weight = workload.parameters[order[k + 1]];
    const bool of_linear = bias.name.ends_with("bias") && weight.name.ends_with("weight") &&
                           outer_of(bias.name) == outer_of(weight.name) && weight.shape &&
                           weight.shape->size() == 2;
    if (of_linear) std::swap(order[k], order[k + 1]);
  }
  return order;
}

bool persists(const Parameter& parameter, const Zero& scheme) {
  return elements_of(parameter) <= scheme.stage3_param_persistence_threshold;
}

Zero3Coordinator::Zero3Coordinator(const Workload& workload, const Zero& scheme,
                                   const std::vector<Unit>& modules,
                                   const std::vector<std::size_t>& forward,
                                   const std::vector<std::size_t>& backward)
    : workload_(workload), scheme_(scheme), modules_(modules), held_(workload.parameters.size()) {
  std::vector<std::size_t> trace = forward;
  trace.insert(trace.end(), backward.begin(), backward.end());
  std::int64_t passed = 0;
  for (std::size_t step = 0; step < trace.size(); ++step) {
    passed_.push_back(passed);
    for (const std::size_t parameter : modules_[trace[step]].parameters) {
      uses_.push_back({parameter, static_cast<std::int64_t>(step)});
      held_[parameter].used_at.push_back(static_cast<std::int64_t>(step));
      passed += elements_of(workload_.parameters[parameter]);
    }
  }
  for (std::size_t p = 0; p < held_.size(); ++p)
    if (persists(workload_.parameters[p], scheme_)) held_[p].status = Status::there;
}

void Zero3Coordinator::begin() {
  queue_ = {uses_.begin(), uses_.end()};
  for (Held& held : held_) held.fetched_for = std::numeric_limits<std::int64_t>::min();
  live_ = 0;
  step_ = 0;
}

void Zero3Coordinator::fetch(std::size_t module, const Gather& gather, const Wait& wait) {
  const std::vector<std::size_t>& parameters = modules_[module].parameters;
  start(parameters, gather);
  for (const std::size_t parameter : parameters) {
    if (held_[parameter].status != Status::in_flight) continue;
    wait(parameter);
    held_[parameter].status = Status::there;
  }
  pop_those_of(parameters);
  prefetch(gather);
  ++step_;
}

void Zero3Coordinator::start(const std::vector<std::size_t>& parameters, const Gather& gather) {
  std::vector<std::size_t> gathered;
  for (const std::size_t parameter : parameters) {
    if (held_[parameter].status != Status::sharded) continue;
    held_[parameter].status = Status::in_flight;
    live_ += elements_of(workload_.parameters[parameter]);
    gathered.push_back(parameter);
  }
  if (!gathered.empty()) gather(gathered);
}

/// Removes the uses of this step that no prefetch has passed.
void Zero3Coordinator::pop_those_of(const std::vector<std::size_t>& parameters) {
  auto left = std::ranges::count_if(
      parameters, [&](std::size_t parameter) { return held_[parameter].fetched_for < step_; });
  for (; left > 0 && !queue_.empty(); --left) {
    held_[queue_.front().parameter].fetched_for = queue_.front().step;
    queue_.pop_front();
  }
}

void Zero3Coordinator::prefetch(const Gather& gather) {
  if (scheme_.stage3_prefetch_bucket_size == 0) return;
  const std::int64_t most =
      std::min(scheme_.stage3_max_live_parameters - live_, scheme_.stage3_prefetch_bucket_size);
  std::vector<std::size_t> next;
  for (std::int64_t elements = 0; elements < most && !queue_.empty(); queue_.pop_front()) {
    const Use use = queue_.front();
    held_[use.parameter].fetched_for = std::max(held_[use.parameter].fetched_for, use.step);
    if (held_[use.parameter].status != Status::sharded ||
        std::ranges::find(next, use.parameter) != next.end())
      continue;
    next.push_back(use.parameter);
    elements += elements_of(workload_.parameters[use.parameter]);
  }
  start(next, gather);
}

std::int64_t Zero3Coordinator::release(std::size_t module) {
  std::int64_t freed = 0;
  for (const std::size_t parameter : modules_[module].parameters) {
    Held& held = held_[parameter];
    if (held.status != Status::there || held.fetched_for > step_ || is_used_soon(parameter) ||
        persists(workload_.parameters[parameter], scheme_))
      continue;
    held.status = Status::sharded;
    live_ -= elements_of(workload_.parameters[parameter]);
    ++freed;
  }
  return freed;
}

/// Whether fewer than stage3_max_reuse_distance elements are used before it.
bool Zero3Coordinator::is_used_soon(std::size_t parameter) const {
  const std::vector<std::int64_t>& steps = held_[parameter].used_at;
  const auto next = std::ranges::lower_bound(steps, step_);
  if (next == steps.end()) return false;
  const auto passed_at = [&](std::int64_t step) { return passed_[static_cast<std::size_t>(step)]; };
  return passed_at(*next) - passed_at(step_) < scheme_.stage3_max_reuse_distance;
}

}  // namespace ddpsim
