#include "max_min.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kUndecided = 0;  // rates are at least 1

}  // namespace

MaxMin::MaxMin(std::vector<std::int64_t> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

void MaxMin::add(FlowId id, std::span<const LinkId> route, std::int64_t ceiling) {
  if (id >= flows_.size()) {
    flows_.resize(id + 1);
    new_rates_.resize(id + 1, kUndecided);
  }
  Flow& flow = flows_[id];
  DDPSIM_ASSERT(!flow.there, "a flow is added twice");
  flow.there = true;
  flow.route = route;
  flow.ceiling = std::max<std::int64_t>(1, ceiling);
  flow.rate = 0;
  flow.places.resize(route.size());
  for (std::size_t hop = 0; hop < route.size(); ++hop) {
    LinkState& link = links_[route[hop]];
    flow.places[hop] = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back(id);
    link.ceilings += flow.ceiling;
    if (link.may_hold_back()) mark(route[hop]);
  }
  added_.push_back(id);
}

void MaxMin::remove(FlowId id) {
  Flow& flow = flows_[id];
  DDPSIM_ASSERT(flow.there, "a flow is removed that is not there");
  for (std::size_t hop = 0; hop < flow.route.size(); ++hop) {
    LinkState& link = links_[flow.route[hop]];
    if (link.may_hold_back()) mark(flow.route[hop]);
    link.ceilings -= flow.ceiling;
    const FlowId moved = link.flows.back();
    link.flows[flow.places[hop]] = moved;
    link.flows.pop_back();
    const std::span<const LinkId> route = flows_[moved].route;
    const auto there = std::find(route.begin(), route.end(), flow.route[hop]) - route.begin();
    flows_[moved].places[static_cast<std::size_t>(there)] = flow.places[hop];
  }
  flow.there = false;
}

std::span<const MaxMin::FlowId> MaxMin::settle() {
  changed_.clear();
  part_flows_.clear();
  part_links_.clear();
  collect_component();
  fill();
  for (const LinkId id : part_links_) links_[id].visited = false;
  for (const FlowId id : part_flows_) {
    Flow& flow = flows_[id];
    flow.visited = false;
    const std::int64_t rate = std::exchange(new_rates_[id], kUndecided);
    if (rate == flow.rate) continue;
    flow.rate = rate;
    changed_.push_back(id);
  }
  return changed_;
}

void MaxMin::mark(LinkId id) {
  if (std::exchange(links_[id].dirty, true)) return;
  dirty_links_.push_back(id);
}

/// Collects everything that a change may affect. It goes from links that hold back, or did, to
/// their flows, and to the links that hold those back. A flow that nothing holds back gets its
/// ceiling at once.
void MaxMin::collect_component() {
  for (const FlowId id : added_) {
    Flow& flow = flows_[id];
    if (!flow.there) continue;
    if (may_be_held_back(flow)) {
      visit_flow(id);
    } else if (std::exchange(flow.rate, flow.ceiling) != flow.ceiling) {
      changed_.push_back(id);
    }
  }
  added_.clear();
  for (const LinkId id : dirty_links_) {
    links_[id].dirty = false;
    for (const FlowId flow : links_[id].flows) visit_flow(flow);
  }
  dirty_links_.clear();
  for (std::size_t next = 0; next < part_links_.size(); ++next)
    for (const FlowId flow : links_[part_links_[next]].flows) visit_flow(flow);
}

bool MaxMin::may_be_held_back(const Flow& flow) const {
  return std::ranges::any_of(flow.route, [&](LinkId link) { return links_[link].may_hold_back(); });
}

void MaxMin::visit_flow(FlowId id) {
  if (std::exchange(flows_[id].visited, true)) return;
  part_flows_.push_back(id);
  for (const LinkId link : flows_[id].route)
    if (links_[link].may_hold_back() && !std::exchange(links_[link].visited, true))
      part_links_.push_back(link);
}

void MaxMin::fill() {
  for (const LinkId id : part_links_) {
    LinkState& link = links_[id];
    link.left = link.capacity;
    link.undecided = static_cast<std::int64_t>(link.flows.size());
  }
  undecided_ = part_flows_;
  while (!undecided_.empty()) {
    std::int64_t level = std::numeric_limits<std::int64_t>::max();
    for (const LinkId id : part_links_) {
      const LinkState& link = links_[id];
      if (link.undecided > 0) level = std::min(level, link.left / link.undecided);
    }
    const bool ceilings = std::any_of(undecided_.begin(), undecided_.end(),
                                      [&](FlowId id) { return flows_[id].ceiling <= level; });
    if (ceilings) {
      for (const FlowId id : undecided_)
        if (flows_[id].ceiling <= level) decide(id, flows_[id].ceiling);
    } else {
      // First find the full links, then decide flows, so that one flow's rate does not hide a full
      // link.
      for (const FlowId id : undecided_) {
        const std::span<const LinkId> route = flows_[id].route;
        const bool held = std::any_of(route.begin(), route.end(), [&](LinkId link) {
          const LinkState& state = links_[link];
          return state.visited && state.left / state.undecided == level;
        });
        if (held) new_rates_[id] = std::max<std::int64_t>(1, level);
      }
      for (const FlowId id : undecided_)
        if (new_rates_[id] != kUndecided) decide(id, new_rates_[id]);
    }
    std::erase_if(undecided_, [&](FlowId id) { return new_rates_[id] != kUndecided; });
  }
}

void MaxMin::decide(FlowId id, std::int64_t rate) {
  new_rates_[id] = rate;
  for (const LinkId link : flows_[id].route) {
    if (!links_[link].visited) continue;
    links_[link].left -= rate;
    --links_[link].undecided;
  }
}

}  // namespace ddpsim
