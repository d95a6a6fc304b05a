#include "group_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ddpsim {
namespace {

constexpr std::size_t kMostLines = 12;  ///< collectives and missing ranks named one by one

std::string in_us(std::int64_t ns) {
  return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
}

std::string in_fitting_unit(std::int64_t ns) {
  return ns < 1'000'000 ? in_us(ns) : fmt::format("{:.2f} ms", static_cast<double>(ns) / 1e6);
}

class GroupReport {
 public:
  GroupReport(const JoinedRanks& group, Imported& result) : group_(group), result_(result) {}

  void write() {
    tell_what_was_recognised();
    tell_warnings();
    tell_missing_ranks();
    tell_clocks();
    tell_collectives();
  }

 private:
  int rank(std::size_t position) const {
    return static_cast<int>(*group_.ranks[position].imported.rank_trace->rank);
  }
  const Workload& workload(std::size_t position) const {
    return group_.ranks[position].imported.workload;
  }
  /// Whether all ranks are there. A missing rank may be the last to arrive.
  bool complete() const {
    return group_.ranks.size() >=
           static_cast<std::size_t>(result_.workload.recorded_with.world_size);
  }
  const char* at_most() const { return complete() ? "" : "at most "; }
  const char* at_least() const { return complete() ? "" : "at least "; }
  void tell_what_was_recognised();
  void tell_warnings();
  void tell_missing_ranks();
  void tell_clocks();
  void tell_collectives();
  void tell_wait(const std::vector<const GroupCollective*>& collectives);
  void tell_who_was_late(const std::vector<const GroupCollective*>& collectives);

  const JoinedRanks& group_;
  Imported& result_;
};

void GroupReport::tell_what_was_recognised() {
  const int world = result_.workload.recorded_with.world_size;
  result_.recognised.push_back(fmt::format("{} ranks of one job of {}, {} on each",
                                           group_.ranks.size(), world,
                                           group_.ranks.front().imported.rank_trace->step));
  result_.workload.provenance.emplace_back("ranks",
                                           fmt::format("{} of {}", group_.ranks.size(), world));
  for (const std::string& sentence : group_.ranks[0].imported.recognised) {
    result_.recognised.push_back(fmt::format("rank {}: {}", rank(0), sentence));
  }
}

void GroupReport::tell_warnings() {
  std::map<std::string, std::vector<int>> ranks_of;
  std::vector<std::string> in_order;
  for (std::size_t k = 0; k < group_.ranks.size(); ++k) {
    for (const std::string& warning : group_.ranks[k].imported.warnings) {
      std::vector<int>& list = ranks_of[warning];
      if (list.empty()) in_order.push_back(warning);
      if (list.empty() || list.back() != rank(k)) list.push_back(rank(k));
    }
    if (workload(k).gpu != workload(0).gpu) {
      result_.warnings.push_back(fmt::format(
          "rank {} ran on {}, but rank {} on {}: compute is scaled as if all ran on the latter",
          rank(k), workload(k).gpu, rank(0), workload(0).gpu));
    }
  }
  for (const std::string& warning : in_order) {
    const std::vector<int>& list = ranks_of[warning];
    const std::string whose = list.size() == group_.ranks.size() ? std::string("all ranks")
                              : list.size() == 1 ? fmt::format("rank {}", list.front())
                                                 : fmt::format("ranks {}", fmt::join(list, ", "));
    result_.warnings.push_back(fmt::format("{}: {}", whose, warning));
  }
  if (group_.numbered_by_place) {
    result_.warnings.emplace_back(
        "the traces do not say which rank recorded them (distributedInfo), so they were numbered "
        "from 0 in the order given");
  }
}

void GroupReport::tell_missing_ranks() {
  std::vector<int> missing;
  const int world = result_.workload.recorded_with.world_size;
  std::size_t next = 0;
  for (int r = 0; r < world && missing.size() <= kMostLines; ++r) {
    if (next < group_.ranks.size() && rank(next) == r) {
      ++next;
    } else {
      missing.push_back(r);
    }
  }
  if (missing.empty()) return;
  const bool cut = missing.size() > kMostLines;
  if (cut) missing.pop_back();
  result_.warnings.push_back(fmt::format(
      "rank{} {}{} of {} missing and may be the last to arrive, so transfers are upper bounds and "
      "waits lower bounds",
      missing.size() > 1 ? "s" : "", fmt::join(missing, ", "), cut ? ", …" : "", world));
}

void GroupReport::tell_clocks() {
  std::string text;
  if (group_.clocks.compared == 0) {
    text = "used as recorded, because there is no collective to compare them";
    result_.warnings.push_back(
        "no collective shows the offsets of the ranks' clocks, so the order of their starts is "
        "only right if they ran on one host");
  } else if (group_.clocks.shifted) {
    const auto [low, high] =
        std::minmax_element(group_.clocks.shift_ns.begin(), group_.clocks.shift_ns.end());
    text = fmt::format(
        "aligned by the ends of {} collectives (median; they were up to {} apart), which then "
        "agree within {}",
        group_.clocks.compared, in_fitting_unit(*high - *low), in_us(group_.clocks.end_spread_ns));
  } else {
    text = fmt::format("used as recorded: all ranks end each of {} collectives within {}",
                       group_.clocks.compared, in_us(group_.clocks.end_spread_ns));
  }
  result_.recognised.push_back("clocks " + text);
  result_.workload.provenance.emplace_back("clocks", text);
}

void GroupReport::tell_collectives() {
  std::map<std::string, std::vector<const GroupCollective*>> by_operation;
  for (const GroupCollective& one : group_.collectives) by_operation[one.operation].push_back(&one);
  for (const auto& [operation, list] : by_operation) {
    if (operation == "allreduce") continue;
    std::int64_t transfer_ns = 0;
    std::int64_t rank0_ns = 0;
    for (const GroupCollective* one : list) {
      transfer_ns += one->transfer_ns();
      rank0_ns += one->end_ns[0] - one->start_ns[0];
    }
    result_.recognised.push_back(fmt::format(
        "{} {}: {} on rank {}, of which {}{} transfer and {}{} wait", list.size(), operation,
        in_fitting_unit(rank0_ns), rank(0), at_most(), in_fitting_unit(transfer_ns), at_least(),
        in_fitting_unit(rank0_ns - transfer_ns)));
  }
  const auto found = by_operation.find("allreduce");
  if (found == by_operation.end()) return;
  const std::vector<const GroupCollective*>& list = found->second;
  for (std::size_t k = 0; k < std::min(list.size(), kMostLines); ++k) {
    const GroupCollective& one = *list[k];
    result_.recognised.push_back(fmt::format(
        "all-reduce {} of {}{}: transfer {}{}; {}rank {} arrived last, {} after the median rank",
        k + 1, list.size(), one.bytes ? fmt::format(", {} bytes", one.bytes->count()) : "",
        at_most(), in_us(one.transfer_ns()), complete() ? "" : "of those given ",
        rank(one.last_to_arrive()), in_fitting_unit(one.held_up_ns())));
  }
  if (list.size() > kMostLines) {
    result_.recognised.push_back(
        fmt::format("… and {} more all-reduces", list.size() - kMostLines));
  }
  tell_wait(list);
  tell_who_was_late(list);
}

/// Reports which part of each rank's time in the collectives was waiting.
void GroupReport::tell_wait(const std::vector<const GroupCollective*>& collectives) {
  std::int64_t transfer_ns = 0;
  std::vector<std::int64_t> spent(group_.ranks.size(), 0);
  for (const GroupCollective* one : collectives) {
    transfer_ns += one->transfer_ns();
    for (std::size_t k = 0; k < group_.ranks.size(); ++k)
      spent[k] += one->end_ns[k] - one->start_ns[k];
  }
  const auto [least, most] = std::minmax_element(spent.begin(), spent.end());
  result_.recognised.push_back(fmt::format(
      "all-reduces took {} on rank {}, of which {}{} were transfer and {}{} waiting for other "
      "ranks. Waits of {} ranks: {}{} to {}",
      in_fitting_unit(spent[0]), rank(0), at_most(), in_fitting_unit(transfer_ns), at_least(),
      in_fitting_unit(spent[0] - transfer_ns), complete() ? "all" : "these", at_least(),
      in_fitting_unit(*least - transfer_ns), in_fitting_unit(*most - transfer_ns)));
}

/// Names the rank whose lateness cost a typical other rank most.
void GroupReport::tell_who_was_late(const std::vector<const GroupCollective*>& collectives) {
  std::vector<std::size_t> times(group_.ranks.size(), 0);
  std::vector<std::int64_t> held_up(group_.ranks.size(), 0);
  for (const GroupCollective* one : collectives) {
    ++times[one->last_to_arrive()];
    held_up[one->last_to_arrive()] += one->held_up_ns();
  }
  const auto worst =
      static_cast<std::size_t>(std::max_element(held_up.begin(), held_up.end()) - held_up.begin());
  if (held_up[worst] == 0) {
    result_.recognised.push_back("no rank was later than the others");
    return;
  }
  result_.recognised.push_back(fmt::format(
      "{}rank {} arrived last in {} of {} all-reduce{}, costing the median rank {}",
      complete() ? "" : "of those given ", rank(worst), times[worst], collectives.size(),
      collectives.size() == 1 ? "" : "s", in_fitting_unit(held_up[worst])));
}

}  // namespace

void describe_group(const JoinedRanks& group, Imported& result) {
  GroupReport(group, result).write();
}

}  // namespace ddpsim
