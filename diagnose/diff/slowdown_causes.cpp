#include "ddpsim/diagnose/diff/slowdown_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "row_causes.hpp"

namespace ddpsim {
namespace {

constexpr double kSetting = 0.9;
constexpr double kVersion = 0.5;
constexpr double kKinds = 0.8;  ///< if kinds and counts of kernels show it
constexpr double kFirstOfRow = 0.45;
constexpr double kNextOfRow = 0.85;  ///< relative to the one before
constexpr double kUnknown = 0.48;    ///< below everything that is known to have changed
/// Strength of a finding about a row that did not grow.
constexpr double kBeside = 0.05;
/// A row with less than this share of the growth names no cause by itself.
constexpr double kLeastShare = 0.05;

std::string in_words(Duration time) {
  const double us = time.microseconds();
  return std::max(us, -us) >= 1000 ? fmt::format("{:+.2f} ms", us / 1000)
                                   : fmt::format("{:+.1f} us", us);
}

class Ranking {
 public:
  Ranking(const StepDifference& difference, const SlowdownEvidence& evidence)
      : difference_(difference),
        evidence_(evidence),
        sign_(difference.change < Duration() ? -1 : 1) {
    for (const DifferenceRow& row : difference.rows)
      if (grown(row) > 0) all_ += grown(row);
  }

  std::vector<SlowdownCause> run() {
    add_findings();
    add_settings();
    add_rows();
    add_late_rank();
    add_pairs();
    add_kernels();
    add_unknown();
    std::ranges::stable_sort(causes_, [](const SlowdownCause& a, const SlowdownCause& b) {
      return a.weight > b.weight;
    });
    for (SlowdownCause& cause : causes_)
      if (cause.decide_by.empty()) cause.decide_by = decides(cause);
    return std::move(causes_);
  }

 private:
  double grown(const DifferenceRow& row) const { return sign_ * row.change.microseconds(); }
  /// Share of the rows alone.
  double direct(const std::vector<StepPart>& parts) const {
    double sum = 0;
    for (const DifferenceRow& row : difference_.rows)
      if (grown(row) > 0 && (parts.empty() || std::ranges::count(parts, row.part) > 0))
        sum += grown(row);
    return all_ > 0 ? sum / all_ : 0;
  }
  /// Share of the rows, plus the waits for a rank whose own rows grew the same way.
  double share(const std::vector<StepPart>& parts) const {
    const double own = direct(parts);
    if (parts.empty() || std::ranges::count(parts, kWaits) > 0) return own;
    return own + direct({kWaits}) * late_share(parts);
  }
  double late_share(const std::vector<StepPart>& parts) const {
    if (!evidence_.late_difference) return 0;
    double of_parts = 0;
    double all = 0;
    for (const DifferenceRow& row : evidence_.late_difference->rows) {
      if (grown(row) <= 0 || row.part == kTransfer || row.part == kWaits) continue;
      all += grown(row);
      if (std::ranges::count(parts, row.part) > 0) of_parts += grown(row);
    }
    return all > 0 ? of_parts / all : 0;
  }
  double unexplained() const { return share({kUnexplained}); }
  std::string row_words(const DifferenceRow& row) const {
    // Logs with other numbers of ranks are compared by bus bandwidth, so their times were not
    // measured.
    if (evidence_.all_reduce_only)
      return fmt::format("the all-reduce itself is {:.1f} % {}", std::abs(difference_.percent()),
                         sign_ > 0 ? "slower" : "faster");
    std::string part(row.part == kTransfer ? "all-reduce transfer"
                     : row.part == kWaits  ? "waiting for other ranks"
                                           : name_of(row.part));
    std::ranges::replace(part, '_', ' ');
    return fmt::format("{} {}, {:.0f} % of what got {}{}", part, in_words(row.change),
                       100 * grown(row) / all_, sign_ > 0 ? "longer" : "shorter",
                       row.bound_of_change == Bound::upper   ? " (an upper bound)"
                       : row.bound_of_change == Bound::lower ? " (a lower bound)"
                       : row.bound != Bound::none            ? " (from bounds only)"
                                                             : "");
  }
  void add(CauseClass what, double weight, std::string evidence, std::string_view decide_by) {
    auto cause = std::ranges::find(causes_, what, &SlowdownCause::what);
    if (cause == causes_.end()) {
      causes_.push_back({.what = what});
      cause = causes_.end() - 1;
    }
    if (std::ranges::count(cause->evidence, evidence) == 0)
      cause->evidence.push_back(std::move(evidence));
    if (weight <= cause->weight) return;
    cause->weight = weight;
    if (!decide_by.empty()) cause->decide_by = decide_by;
  }
  /// Whether a recording refutes the cause, which then appears among the settings. The next
  /// candidates of the row get no likelier by that.
  bool refuted(CauseClass what, StepPart part) const {
    if (std::ranges::count(evidence_.excluded, what, &ExcludedCause::what) > 0) return true;
    return what == CauseClass::host_threads && part != kInput && evidence_.threads_known;
  }
  /// Whether the effect contradicts the change: what only relieves cannot slow a step down, and
  /// what only costs cannot speed it up.
  bool cannot_be(FindingEffect effect) const {
    return effect == (sign_ > 0 ? FindingEffect::relieves : FindingEffect::costs);
  }
  bool was_there(const Finding& finding) const {
    return std::ranges::count(evidence_.before, finding.what, &Finding::what) > 0;
  }
  void add_findings();
  void add_settings();
  void add_rows();
  void add_late_rank();
  void add_pairs();
  void add_kernels();
  void add_unknown();
  std::string decides(const SlowdownCause& cause) const;

  const StepDifference& difference_;
  const SlowdownEvidence& evidence_;
  const double sign_;
  double all_ = 0;
  std::vector<SlowdownCause> causes_;
};

void Ranking::add_findings() {
  const auto take = [&](const Finding& finding) {
    if (cannot_be(finding.effect)) return;
    // More channels shorten what fewer channels would lengthen.
    const bool fewer_or_more =
        finding.what == CauseClass::fewer_channels || finding.what == CauseClass::more_channels;
    const std::vector<StepPart> parts =
        fewer_or_more && sign_ < 0
            ? lengthened_by(finding.what == CauseClass::more_channels ? CauseClass::fewer_channels
                                                                      : CauseClass::more_channels)
            : lengthened_by(finding.what);
    // A finding may also explain time that is in no row: its mechanism is known, but its share is
    // not.
    const double of_rows = share(parts) + (parts.empty() ? 0 : unexplained());
    const double strength = finding.doubtful                              ? kFirstOfRow
                            : finding.what == CauseClass::version_changed ? kVersion
                            : finding.what == CauseClass::ranks_changed   ? kSetting
                                                                          : 1;
    add(finding.what, std::max(of_rows * strength, kBeside),
        fmt::format("{} ({})", finding.says, finding.place), "");
  };
  for (const Finding& finding : evidence_.changes) take(finding);
  // A current problem cannot make a step shorter, but a previous one that is gone can.
  if (sign_ < 0) {
    for (const Finding& finding : evidence_.repairs) take(finding);
    return;
  }
  for (const Finding& finding : evidence_.now)
    if (!was_there(finding)) take(finding);
}

void Ranking::add_settings() {
  for (const SettingChange& setting : evidence_.settings) {
    if (cannot_be(setting.effect)) continue;
    double of_rows = share(setting.lengthens) + (setting.lengthens.empty() ? 0 : unexplained());
    if (setting.at_most && all_ > 0)
      of_rows = std::min(of_rows, setting.at_most->microseconds() / all_);
    add(setting.what, std::max(of_rows * (setting.version ? kVersion : kSetting), kBeside),
        setting.says, "");
  }
}

void Ranking::add_rows() {
  for (const DifferenceRow& row : difference_.rows) {
    const double own = all_ > 0 ? grown(row) / all_ : 0;
    if (own < kLeastShare) continue;
    double strength = kFirstOfRow;
    for (const PossibleCause& one : causes_of_row(
             row.part, evidence_.on_cpu, row.bound == Bound::upper && !evidence_.all_reduce_only)) {
      const bool waits_apart =
          one.what == CauseClass::slow_rank && row.part == kTransfer && row.bound == Bound::none;
      if (!waits_apart && !refuted(one.what, row.part))
        add(one.what, own * strength, row_words(row), one.decide_by);
      strength *= kNextOfRow;
    }
  }
}

/// What the late rank does longer than the others explains why the others wait.
void Ranking::add_late_rank() {
  if (!evidence_.late || sign_ < 0) return;
  const LateRanks& late = *evidence_.late;
  if (late.late.empty()) return;
  const auto rank = std::ranges::find(late.ranks, late.late.front(), &LateRank::rank);
  const double own = share({kWaits});
  const bool lasting = late.pattern == LatePattern::one_rank || late.pattern == LatePattern::node ||
                       late.pattern == LatePattern::slot || late.pattern == LatePattern::several;
  if (own < kLeastShare) return;
  std::string says = fmt::format("rank {} arrived last in {} of {} collectives", rank->rank,
                                 rank->times_last, late.collectives);
  if (rank->work)
    says += fmt::format(", its {}{} taking {} longer than the others'",
                        rank->phase.empty() ? std::string() : std::string(rank->phase) + " ",
                        name_of(*rank->work), in_words(rank->longer).substr(1));
  if (late.pattern == LatePattern::wandering) {
    add(CauseClass::uneven_data, own, "another rank is last in each step: " + says, "");
    return;
  }
  if (!lasting) return;
  // A rank is slow if it computes, launches or loads longer. What DDP does to it does not count.
  constexpr std::array kOwnWork = {kKernels, kLaunches, kInput, kUnexplained};
  const std::vector<StepPart> own_work(kOwnWork.begin(), kOwnWork.end());
  const bool works = rank->work && std::ranges::count(own_work, *rank->work) > 0;
  const double is_slow = evidence_.late_difference ? late_share(own_work) : works ? 1 : kFirstOfRow;
  add(CauseClass::slow_rank, own * is_slow, says, rank->work == kInput ? kDecidesLateInput : "");
  const auto why = [&](StepPart part, double of_waits) {
    double strength = kFirstOfRow;
    for (const PossibleCause& one : causes_of_row(part, evidence_.on_cpu, false)) {
      if (!refuted(one.what, part)) add(one.what, of_waits * strength, says, one.decide_by);
      strength *= kNextOfRow;
    }
  };
  if (!evidence_.late_difference) {
    if (rank->work) why(*rank->work, own);
    return;
  }
  for (const DifferenceRow& row : evidence_.late_difference->rows)
    if (row.part != kTransfer && row.part != kWaits && late_share({row.part}) >= kLeastShare)
      why(row.part, own * late_share({row.part}));
}

/// A node that is slow with every other node lengthens transfers, and also waits if its GPUs are
/// slow.
void Ranking::add_pairs() {
  if (!evidence_.pairs || sign_ < 0) return;
  const double own = share({kTransfer, kWaits}) + unexplained();
  if (evidence_.pairs->groups.found())
    add(CauseClass::network_slower, std::max(own * kSetting, kBeside),
        group_words(evidence_.pairs->groups),
        "the links between these groups (leaf and spine switches, uplinks, errors), and a job "
        "within one group");
  for (const std::string& node : evidence_.pairs->slow_nodes)
    add(CauseClass::slow_node, std::max(own * kSetting, kBeside),
        fmt::format("node {} has no fast pair, while the other nodes of its slow pairs do", node),
        "the same pairs with one change at a time to that node's cables, NICs and settings, and "
        "its hardware counters compared with another node's");
}

/// Kinds and counts of kernels tell a slower GPU from other kernels.
void Ranking::add_kernels() {
  if (!evidence_.kernels || evidence_.kernels->change == KernelChange::none) return;
  const bool alike = evidence_.kernels->change == KernelChange::slower_alike;
  const double own = share({kKernels});
  if (own >= kLeastShare)
    add(alike ? CauseClass::clocks_held_down : CauseClass::kernels_changed, own * kKinds,
        evidence_.kernels->says, "");
}

void Ranking::add_unknown() {
  if (evidence_.all_reduce_only) {
    add(CauseClass::unknown, kUnknown,
        "only times of all-reduces are known: they show how much, "
        "not why",
        "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING,ENV of both runs: version, "
        "network, "
        "channels, algorithm");
    return;
  }
  const double own = unexplained();
  if (own < kLeastShare) return;
  add(CauseClass::unknown, own * kUnknown,
      difference_.before.parts_known && difference_.after.parts_known
          ? fmt::format("{:.0f} % of the change lies in no row above", 100 * own)
          : std::string("only step times are compared: they show how much, not where"),
      kTraces);
}

/// What decides about a cause. For a finding or a setting: undo it, which is the simplest
/// measurement. For a row: the row's own measurement.
std::string Ranking::decides(const SlowdownCause& cause) const {
  if (cause.what == CauseClass::slow_rank) return std::string(causes_of_waits().front().decide_by);
  if (cause.what == CauseClass::uneven_data) return std::string(causes_of_waits().back().decide_by);
  if (cause.what == CauseClass::version_changed)
    return "the old version on the new machine, with nothing else changed";
  return fmt::format(
      "undo only this and measure the step again; if it is as {} as before, this "
      "was the cause",
      sign_ > 0 ? "fast" : "slow");
}

}  // namespace

std::vector<SlowdownCause> causes_of_findings(const SlowdownEvidence& evidence) {
  std::vector<SlowdownCause> causes;
  const auto take = [&](const Finding& finding, double weight) {
    auto cause = std::ranges::find(causes, finding.what, &SlowdownCause::what);
    if (cause == causes.end()) {
      causes.push_back({.what = finding.what,
                        .evidence = {},
                        .decide_by = "the step or all_reduce_perf, with it and without it",
                        .weight = weight});
      cause = causes.end() - 1;
    }
    std::string says = fmt::format("{} ({})", finding.says, finding.place);
    if (std::ranges::count(cause->evidence, says) == 0) cause->evidence.push_back(std::move(says));
  };
  for (const Finding& finding : evidence.changes)
    if (finding.effect != FindingEffect::relieves)
      take(finding, finding.what == CauseClass::version_changed ? kVersion : 1);
  for (const Finding& finding : evidence.now)
    if (std::ranges::count(evidence.before, finding.what, &Finding::what) == 0)
      take(finding, kSetting);
  std::ranges::stable_sort(
      causes, [](const SlowdownCause& a, const SlowdownCause& b) { return a.weight > b.weight; });
  return causes;
}

std::vector<SlowdownCause> slowdown_causes(const StepDifference& difference,
                                           const SlowdownEvidence& evidence) {
  if (!difference.beyond_noise()) return {};
  return Ranking(difference, evidence).run();
}

}  // namespace ddpsim
