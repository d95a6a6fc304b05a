// Max-min fair rates of flows over links, updated as flows are added and removed.
//
// A flow takes its whole rate on every link of its route and never more than its ceiling. Rates are
// max-min fair: no flow can get more without taking from one that has no more than it. They are
// found by filling. All rates rise together, and a flow stops at its ceiling or when one of its
// links is full.
//
// Rates are whole bytes per second. A share that is not a whole number is rounded down, equally for
// all flows that the link holds back. So no link is ever overfull, and the order of operations does
// not matter. Less than one byte per second and flow stays unused. No flow gets less than one byte
// per second, because it would never end.
//
// A link that can carry the ceilings of all its flows together never holds anyone back. It is left
// out. For the rest, a change is followed only as far as it reaches. First only some flows are
// filled again, and all others keep their rates. The result is the solution of everything, to the
// last byte, if two things are true of each link that some of these flows pass:
// - If a rate on it has changed, all flows that it held back are among them.
// - Suppose it has less than a byte per second to spare for each of its flows. If it is full, or a
//   rate has changed, or one of its fastest flows is among them, then all its fastest flows are.
//   They are what fills it, and its share is rounded for all of them together.
// While that is not so, the missing flows are added.
//
// A flow may stand for several that are alike (folded_network.hpp). It then takes its rate several
// times on a link, and gets the rate that each of them would get.
#pragma once

#include <cstdint>
#include <limits>
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
  /// `alike` is by link of the route: how many flows this one stands for there. Empty: one.
  void add(FlowId id, std::span<const LinkId> route, std::int64_t ceiling,
           std::span<const std::uint32_t> alike = {});
  void remove(FlowId id);

  /// Updates the rates and returns the flows whose rate changed, in no particular order. Valid
  /// until the next call.
  std::span<const FlowId> settle();

  bool settled() const { return added_.empty() && dirty_links_.empty(); }
  /// Rate of an existing flow, as of the last settle().
  std::int64_t rate(FlowId id) const { return rates_[id]; }

 private:
  static constexpr LinkId kNobody = std::numeric_limits<LinkId>::max();

  struct Flow {
    std::span<const LinkId> route;
    std::span<const std::uint32_t> alike;
    std::vector<std::uint32_t> places;  ///< by hop: position among the link's flows
    std::int64_t ceiling = 0;
    bool there = false;

    std::int64_t on(std::size_t hop) const { return alike.empty() ? 1 : alike[hop]; }
  };
  struct LinkState {
    std::int64_t capacity = 0;
    std::int64_t ceilings = 0;  ///< sum over its flows
    std::int64_t used = 0;      ///< sum of their rates
    std::int64_t passing = 0;   ///< its flows, each as often as it counts
    std::vector<FlowId> flows;
    bool dirty = false;
    // While solving.
    /// A chosen flow passes it, or it is dirty.
    bool touched = false;
    bool full = false;
    bool changed = false;  ///< not the same flows or rates as before
    std::int64_t left = 0;
    std::int64_t undecided = 0;
    std::int64_t level = 0;  ///< `left` by `undecided`, unless stale
    bool stale = false;

    bool may_hold_back() const { return ceilings > capacity; }
  };

  void mark(LinkId id);
  void choose_first();
  void choose(FlowId id);
  void choose_connected();
  void touch(LinkId id);
  void fill();
  void empty_links();
  std::int64_t lowest_ceiling() const;
  std::int64_t find_full();
  void fill_up(std::int64_t level);
  void decide(FlowId id, std::int64_t rate);
  bool choose_more();
  bool choose_more(LinkId id);
  void keep();

  std::vector<Flow> flows_;
  // By flow. They are looked at most, so they lie close together.
  std::vector<std::int64_t> rates_;
  /// The link that was full; nobody: it has its ceiling.
  std::vector<LinkId> held_by_;
  std::vector<std::uint8_t> is_chosen_;  ///< to be filled again
  std::vector<LinkState> links_;
  std::vector<FlowId> added_;
  std::vector<LinkId> dirty_links_;
  // While solving.
  std::vector<FlowId> chosen_;
  std::vector<LinkId> touched_;
  std::vector<std::int64_t> new_rates_;  ///< by flow; kUndecided until decided
  std::vector<LinkId> new_held_by_;      ///< by flow
  std::vector<FlowId> undecided_;        ///< and flows decided since the last ceiling
  std::vector<LinkId> filling_;
  std::vector<LinkId> full_;
  std::vector<FlowId> held_;
  std::vector<FlowId> changed_;
};

}  // namespace ddpsim
