// Max-min fair rates of flows over links, updated as flows are added and removed.
//
// A flow takes its whole rate on every link of its route and never more than its ceiling. Rates are
// max-min fair: no flow can get more without taking from one that has no more than it. They are
// found by filling. All rates rise together, and a flow stops at its ceiling or when one of its
// links is full.
//
// Two exact rules keep the work local:
// - A link that can carry the ceilings of all its flows together never holds anyone back. Such
//   links are left out. A flow with no other links gets its ceiling without any solving.
// - Flows that are not connected over links that may hold back do not affect each other. Only the
//   connected part around a change is solved again. Its rates are the same as in a solution of
//   everything.
//
// Rates are whole bytes per second. A share that is not a whole number is rounded down, equally for
// all flows that the link holds back. So no link is ever overfull, and the order of operations does
// not matter. Less than one byte per second and flow stays unused. No flow gets less than one byte
// per second, because it would never end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

class MaxMin {
 public:
  using FlowId = std::uint32_t;

  /// Bytes per second, by link.
  explicit MaxMin(std::vector<std::int64_t> capacities);

  /// `route` must outlive the flow and pass each link once. The caller chooses ids, densely.
  void add(FlowId id, std::span<const LinkId> route, std::int64_t ceiling);
  void remove(FlowId id);

  /// Updates the rates and returns the flows whose rate changed, in no particular order. Valid
  /// until the next call.
  std::span<const FlowId> settle();

  bool settled() const { return added_.empty() && dirty_links_.empty(); }
  /// Rate of an existing flow, as of the last settle().
  std::int64_t rate(FlowId id) const { return flows_[id].rate; }

 private:
  struct Flow {
    std::span<const LinkId> route;
    std::vector<std::uint32_t> places;  ///< by hop: position among the link's flows
    std::int64_t ceiling = 0;
    std::int64_t rate = 0;
    bool there = false;
    bool visited = false;
  };
  struct LinkState {
    std::int64_t capacity = 0;
    std::int64_t ceilings = 0;  ///< sum over its flows
    std::vector<FlowId> flows;
    bool dirty = false;
    bool visited = false;
    std::int64_t left = 0;       ///< while solving
    std::int64_t undecided = 0;  ///< flows without a rate, while solving

    bool may_hold_back() const { return ceilings > capacity; }
  };

  void mark(LinkId id);
  void collect_component();
  bool may_be_held_back(const Flow& flow) const;
  void visit_flow(FlowId id);
  void fill();
  void decide(FlowId id, std::int64_t rate);

  std::vector<Flow> flows_;
  std::vector<LinkState> links_;
  std::vector<FlowId> added_;
  std::vector<LinkId> dirty_links_;
  // The part that is being solved.
  std::vector<FlowId> part_flows_;
  std::vector<LinkId> part_links_;
  std::vector<std::int64_t> new_rates_;  ///< by flow; kUndecided until decided
  std::vector<FlowId> undecided_;
  std::vector<FlowId> changed_;
};

}  // namespace ddpsim
