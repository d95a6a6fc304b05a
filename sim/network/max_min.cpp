#include "max_min.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kUndecided = 0;  // rates are at least 1

}  // namespace

MaxMin::MaxMin(std::vector<std::int64_t> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

void MaxMin::add(FlowId id, std::span<const LinkId> route, std::int64_t ceiling,
                 std::span<const std::uint32_t> alike) {
  if (id >= flows_.size()) {
    flows_.resize(id + 1);
    rates_.resize(id + 1, 0);
    held_by_.resize(id + 1, kNobody);
    is_chosen_.resize(id + 1, 0);
    new_rates_.resize(id + 1, kUndecided);
    new_held_by_.resize(id + 1, kNobody);
  }
  Flow& flow = flows_[id];
  DDPSIM_ASSERT(!flow.there, "a flow is added twice");
  flow.there = true;
  flow.route = route;
  flow.alike = alike;
  flow.ceiling = std::max<std::int64_t>(1, ceiling);
  flow.places.resize(route.size());
  rates_[id] = 0;
  held_by_[id] = kNobody;
  for (std::size_t hop = 0; hop < route.size(); ++hop) {
    LinkState& link = links_[route[hop]];
    flow.places[hop] = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back(id);
    link.ceilings += flow.on(hop) * flow.ceiling;
    link.passing += flow.on(hop);
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
    link.ceilings -= flow.on(hop) * flow.ceiling;
    link.used -= flow.on(hop) * rates_[id];
    link.passing -= flow.on(hop);
    const FlowId moved = link.flows.back();
    link.flows[flow.places[hop]] = moved;
    link.flows.pop_back();
    const std::span<const LinkId> route = flows_[moved].route;
    const auto there = std::find(route.begin(), route.end(), flow.route[hop]) - route.begin();
    flows_[moved].places[static_cast<std::size_t>(there)] = flow.places[hop];
  }
  rates_[id] = 0;
  flow.there = false;
}

std::span<const MaxMin::FlowId> MaxMin::settle() {
  changed_.clear();
  choose_first();
  // Changes seldom reach far. Those that do are not followed step by step.
  constexpr int kSteps = 8;
  for (int step = 1;; ++step) {
    fill();
    if (!choose_more()) break;
    if (step >= kSteps) choose_connected();
  }
  keep();
  return changed_;
}

void MaxMin::mark(LinkId id) {
  if (std::exchange(links_[id].dirty, true)) return;
  dirty_links_.push_back(id);
}

/// Chooses new flows, and those that links held back whose flows are not the same as before. A flow
/// that nothing holds back gets its ceiling at once.
void MaxMin::choose_first() {
  for (const FlowId id : added_)
    if (flows_[id].there && is_chosen_[id] == 0) choose(id);
  added_.clear();
  for (const LinkId id : dirty_links_) {
    touch(id);
    for (const FlowId flow : links_[id].flows)
      if (held_by_[flow] == id && is_chosen_[flow] == 0) choose(flow);
  }
}

void MaxMin::choose(FlowId id) {
  is_chosen_[id] = 1;
  chosen_.push_back(id);
  for (const LinkId link : flows_[id].route)
    if (links_[link].may_hold_back()) touch(link);
}

void MaxMin::touch(LinkId id) {
  if (!std::exchange(links_[id].touched, true)) touched_.push_back(id);
}

/// Chooses all flows that are connected to the chosen ones by links that may hold back.
void MaxMin::choose_connected() {
  for (std::size_t next = 0; next < touched_.size(); ++next) {
    const LinkState& link = links_[touched_[next]];
    for (const FlowId flow : link.flows)
      if (is_chosen_[flow] == 0) choose(flow);
  }
}

/// Fills the links with the chosen flows. Each round looks at the links that are not full yet, and
/// otherwise only at flows that get their rate. All flows are looked at once per ceiling.
void MaxMin::fill() {
  empty_links();
  filling_ = touched_;
  undecided_ = chosen_;
  std::int64_t ceiling = lowest_ceiling();
  while (!undecided_.empty()) {
    const std::int64_t level = find_full();
    if (ceiling <= level) {
      for (const FlowId id : undecided_)
        if (new_rates_[id] == kUndecided && flows_[id].ceiling <= level)
          decide(id, flows_[id].ceiling);
      std::erase_if(undecided_, [&](FlowId id) { return new_rates_[id] != kUndecided; });
      ceiling = lowest_ceiling();
    } else {
      fill_up(level);
    }
  }
}

/// Takes the chosen flows off all links.
void MaxMin::empty_links() {
  for (const LinkId id : touched_) {
    LinkState& link = links_[id];
    link.left = link.capacity - link.used;
    link.undecided = 0;
    link.full = false;
    link.changed = link.dirty;
    link.stale = true;
  }
  for (const FlowId id : chosen_) {
    const Flow& flow = flows_[id];
    new_rates_[id] = kUndecided;
    new_held_by_[id] = kNobody;
    for (std::size_t hop = 0; hop < flow.route.size(); ++hop) {
      LinkState& link = links_[flow.route[hop]];
      link.left += flow.on(hop) * rates_[id];
      link.undecided += flow.on(hop);
    }
  }
}

std::int64_t MaxMin::lowest_ceiling() const {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (const FlowId id : undecided_) lowest = std::min(lowest, flows_[id].ceiling);
  return lowest;
}

/// The level at which the next links are full. They are in full_.
std::int64_t MaxMin::find_full() {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  full_.clear();
  std::erase_if(filling_, [&](LinkId id) { return links_[id].undecided == 0; });
  for (const LinkId id : filling_) {
    LinkState& link = links_[id];
    if (std::exchange(link.stale, false)) link.level = link.left / link.undecided;
    if (link.level > lowest) continue;
    if (link.level < lowest) full_.clear();
    lowest = link.level;
    full_.push_back(id);
  }
  return lowest;
}

/// Finds all flows over full links before it decides any, so that one flow's rate does not hide a
/// full link.
void MaxMin::fill_up(std::int64_t level) {
  held_.clear();
  for (const LinkId link : full_) {
    links_[link].full = true;
    for (const FlowId id : links_[link].flows) {
      if (is_chosen_[id] == 0 || new_rates_[id] != kUndecided) continue;
      new_rates_[id] = std::max<std::int64_t>(1, level);
      new_held_by_[id] = link;
      held_.push_back(id);
    }
  }
  for (const FlowId id : held_) decide(id, new_rates_[id]);
}

void MaxMin::decide(FlowId id, std::int64_t rate) {
  new_rates_[id] = rate;
  const Flow& flow = flows_[id];
  const bool same = rate == rates_[id];
  for (std::size_t hop = 0; hop < flow.route.size(); ++hop) {
    LinkState& link = links_[flow.route[hop]];
    link.left -= flow.on(hop) * rate;
    link.undecided -= flow.on(hop);
    link.stale = true;
    if (!same) link.changed = true;
  }
}

/// Chooses flows that these rates may change too. Returns whether there are any.
bool MaxMin::choose_more() {
  bool more = false;
  for (std::size_t next = 0, end = touched_.size(); next < end; ++next)
    if (choose_more(touched_[next])) more = true;
  return more;
}

bool MaxMin::choose_more(LinkId id) {
  const LinkState& link = links_[id];
  const bool tight = link.left < link.passing;
  if (!link.changed && !tight) return false;
  std::int64_t fast = std::numeric_limits<std::int64_t>::max();
  if (tight) {
    std::int64_t most = 0;
    std::int64_t most_chosen = 0;
    for (const FlowId flow : link.flows) {
      const bool chosen = is_chosen_[flow] != 0;
      std::int64_t& fastest = chosen ? most_chosen : most;
      fastest = std::max(fastest, chosen ? new_rates_[flow] : rates_[flow]);
    }
    fast = std::max(most, most_chosen) - link.passing;
    if (!link.changed && !link.full && most_chosen <= fast) return false;
  }
  bool more = false;
  for (const FlowId flow : link.flows) {
    if (is_chosen_[flow] != 0) continue;
    if (rates_[flow] <= fast && !(link.changed && held_by_[flow] == id)) continue;
    choose(flow);
    more = true;
  }
  return more;
}

void MaxMin::keep() {
  for (const FlowId id : chosen_) {
    const Flow& flow = flows_[id];
    is_chosen_[id] = 0;
    held_by_[id] = new_held_by_[id];
    const std::int64_t rate = std::exchange(new_rates_[id], kUndecided);
    const std::int64_t before = std::exchange(rates_[id], rate);
    if (rate == before) continue;
    changed_.push_back(id);
    for (std::size_t hop = 0; hop < flow.route.size(); ++hop)
      links_[flow.route[hop]].used += flow.on(hop) * (rate - before);
  }
  for (const LinkId id : touched_) links_[id].touched = false;
  for (const LinkId id : dirty_links_) links_[id].dirty = false;
  chosen_.clear();
  touched_.clear();
  dirty_links_.clear();
}

}  // namespace ddpsim
