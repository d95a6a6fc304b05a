// Max-min fair rates of flows over links, kept up to date as flows come and go.
//
// A flow takes its whole rate on every link of its route and never more than its ceiling. Rates are
// max-min fair: no flow can get more without taking from one that has no more than it. Found by
// filling: all rates rise together; a flow stops at its ceiling, or when a link it passes is full.
//
// Two exact rules keep the work local:
//   - A link whose flows' ceilings fit into its capacity together never holds anyone back. Such
//     links are left out; a flow that meets no other link has its ceiling, without any solving.
//   - Flows that are not connected over links that may hold back do not feel each other: only the
//     connected part around a change is solved again, and its rates are those a solution of
//     everything would give.
//
// Rates are whole bytes per second. Where a share is no whole number it is rounded down, the same
// for all flows the link holds back, so that no link is ever overfull and no order of anything
// matters; less than one byte per second and flow stays unused. No flow gets less than one byte per
// second: it would never end.
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

  /// `route` must outlive the flow and pass each link once; ids are given by the caller, densely.
  void add(FlowId id, std::span<const LinkId> route, std::int64_t ceiling);
  void remove(FlowId id);

  /// Brings rates up to date and returns the flows whose rate is new, in no order of meaning; valid
  /// until the next call.
  std::span<const FlowId> settle();

  bool settled() const { return added_.empty() && dirty_links_.empty(); }
  /// Of a flow that is there, as of the last settle().
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
    std::int64_t ceilings = 0;  ///< of its flows, together
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
  // The part being solved.
  std::vector<FlowId> part_flows_;
  std::vector<LinkId> part_links_;
  std::vector<std::int64_t> new_rates_;  ///< by flow; kUndecided until decided
  std::vector<FlowId> undecided_;
  std::vector<FlowId> changed_;
};

}  // namespace ddpsim
