#include "ddpsim/calibrate/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "ddpsim/calibrate/health.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/size_text.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "kriging_fit.hpp"
#include "law_parameters.hpp"
#include "median.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kFewestSizes = 4;  ///< of one log: a latency, a rate and something to check
constexpr std::size_t kMostPoints = 2'000;  ///< the fit takes their cube
constexpr double kContradiction = 2;        ///< median ratio of two logs of one scale
constexpr double kLeastMisfit = 0.05;
constexpr double kFourInFive = 1.28;
/// How far NCCL's estimates of trees are from what our table makes of a cluster as stated:
/// logarithmic, one standard deviation. The families fitted have 0.95, 1, 1.05, 1.2.
constexpr double kWeighed = 0.05;
/// Chance that LL128 is not taken between nodes where the table would.
constexpr double kWithoutLl128 = 0.5;
/// How likely a choice that NCCL printed is otherwise in its own table, weighed rightly.
constexpr double kContradicted = 0.05;
constexpr Bytes kSmall{64 << 10};
constexpr Bytes kLarge{1 << 20};

[[noreturn]] void fail(const std::string& file, std::string message, std::string hint) {
  throw InputError({file, "", std::move(message), std::move(hint)});
}

/// A log that takes part.
struct Part {
  const MeasuredLog* log;
  Scale scale;
  Cluster cluster;  ///< uncalibrated, at the log's scale
  CollectiveTuning tuning;
  std::vector<MeasuredPoint> points;  ///< one per size
  std::vector<std::string> faults;    ///< why health distrusts it
};

/// Out of place; in place where the sums out of place alone were wrong; 0 where neither is sound.
double sound_us(const MeasuredPoint& point) {
  if (!(point.wrong > 0)) return point.time_us;
  return point.in_place_us && point.wrong_in_place == 0.0 ? *point.in_place_us : 0;
}

/// "32 MiB: 3232 wrong results out of place, in-place time taken"; empty where all sums are right.
std::string wrong_note(const MeasuredLog& log) {
  constexpr std::size_t kMostNamed = 8;
  std::string note;
  std::size_t rows = 0;
  for (const MeasuredPoint& point : log.points) {
    const bool out = point.wrong > 0;
    if (!out && !(point.wrong_in_place.value_or(0) > 0)) continue;
    if (++rows > kMostNamed) continue;
    note += fmt::format("{}{}: {} wrong results {} place, {}", rows == 1 ? "" : "; ",
                        size_text(point.size), out ? point.wrong : *point.wrong_in_place,
                        out ? "out of" : "in",
                        !out                  ? "out-of-place time taken"
                        : sound_us(point) > 0 ? "in-place time taken"
                                              : "row left out");
  }
  if (rows > kMostNamed) note += fmt::format("; {} more rows like these", rows - kMostNamed);
  return note;
}

/// Rows of one size become their geometric mean; sizes of nothing say nothing, wrong sums neither.
std::vector<MeasuredPoint> by_size(const MeasuredLog& log) {
  std::map<Bytes, std::pair<double, int>> sums;
  std::map<Bytes, MeasuredPoint> first;
  for (const MeasuredPoint& point : log.points) {
    const double time_us = sound_us(point);
    if (point.size <= Bytes() || !(time_us > 0)) continue;
    auto& [sum, count] = sums[point.size];
    sum += std::log(time_us);
    ++count;
    first.emplace(point.size, point);
  }
  std::vector<MeasuredPoint> points;
  for (auto& [size, point] : first) {
    point.time_us = std::exp(sums[size].first / sums[size].second);
    points.push_back(point);
  }
  return points;
}

Scale scale_of(const MeasuredLog& log) {
  if (const auto scale = log.scale()) return *scale;
  fail(log.source, "does not say how many nodes and GPUs per node it was taken on",
       fmt::format("Name them: {}@NODESxGPUS, such as {}@2x8", log.source, log.source));
}

void check_device(const MeasuredLog& log, const Cluster& cluster) {
  const bool cpu = log.gpu.starts_with("CPU");
  if (cpu || !log.backend.empty())
    fail(log.source,
         fmt::format("was taken {}: it says nothing of NCCL",
                     cpu ? "on CPUs" : "over " + log.backend),
         "Give logs of all_reduce_perf, or of ddpsim-real over NCCL");
  if (log.gpu.empty()) return;
  const std::string model = gpu_model_name(log.gpu);
  if (model == cluster.gpu.name || !find_gpu(model)) return;
  fail(log.source,
       fmt::format("was taken on {}, where the cluster has {}", model, cluster.gpu.name),
       "Name the cluster the log was taken on (--cluster)");
}

std::optional<Part> part_of(const MeasuredLog& log, const ClusterAt& cluster_at,
                            const FitOptions& options, Fit& fit) {
  if (log.points.empty()) {
    fit.left_out.push_back({log.source, "it has no table of times"});
    return std::nullopt;
  }
  const Scale scale = scale_of(log);
  if (scale.ranks() <= 1) {
    fit.left_out.push_back({log.source, "one GPU sends nothing to anybody"});
    return std::nullopt;
  }
  Part part{&log, scale, cluster_at(scale), tuning_of(log, options.nccl), by_size(log)};
  part.cluster.calibration.reset();
  check_device(log, part.cluster);
  const auto wrong = std::count_if(
      log.points.begin(), log.points.end(),
      [](const MeasuredPoint& point) { return point.wrong > 0 && !(sound_us(point) > 0); });
  if (const std::string note = wrong_note(log); !note.empty())
    fit.notes.push_back(log.source + ": " + note);
  const std::string sound = wrong == 0 ? "" : fmt::format(" ({} wrong rows left out)", wrong);
  if (wrong > 0 && part.points.empty())
    fail(log.source, "has wrong results at every size", "Repair the machine, then measure again");
  if (part.points.size() < 2)
    fail(log.source, "has one size only" + sound + ": latency and bandwidth cannot be told apart",
         "Measure a range of sizes: all_reduce_perf -b 8 -e 1G -f 2");
  if (part.points.size() < kFewestSizes)
    fail(log.source,
         fmt::format("has {} sizes{}; a fit needs {} at least", part.points.size(), sound,
                     kFewestSizes),
         "Measure a range of sizes: all_reduce_perf -b 8 -e 1G -f 2");
  const LogHealth found = health(log, part.cluster, part.tuning);
  for (const std::string& note : found.notes) fit.notes.push_back(log.source + ": " + note);
  if (found.other_unit)
    fail(log.source, found.faults.back(), "Give times in microseconds, as all_reduce_perf does");
  part.faults = found.faults;
  return part;
}

bool same_rows(const std::vector<MeasuredPoint>& a, const std::vector<MeasuredPoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const MeasuredPoint& one, const MeasuredPoint& other) {
                      return one.size == other.size && one.time_us == other.time_us;
                    });
}

std::string contradiction_hint(const Part& a, const Part& b) {
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (!one->faults.empty() && other->faults.empty())
      return fmt::format("Leave {} out: {}", one->log->source, one->faults.front());
  return "Two such logs are not of one machine in one state: leave one out";
}

/// What health distrusts is left out, and says why.
std::vector<Part> trusted(std::vector<Part> parts, const FitOptions& options, Fit& fit) {
  std::vector<Part> out;
  for (Part& part : parts) {
    if (part.faults.empty() || options.keep_unhealthy) {
      for (const std::string& fault : part.faults)
        fit.notes.push_back(part.log->source + ": " + fault);
      out.push_back(std::move(part));
      continue;
    }
    std::string reason;
    for (const std::string& fault : part.faults) reason += (reason.empty() ? "" : "; ") + fault;
    fit.left_out.push_back({part.log->source, reason + "; --keep-unhealthy fits it all the same"});
  }
  return out;
}

/// Two logs of one scale must be of one machine, and two runs.
void check_agreement(const std::vector<Part>& parts, Fit& fit) {
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = a + 1; b < parts.size(); ++b) {
      if (!(parts[a].scale == parts[b].scale)) continue;
      if (same_rows(parts[a].points, parts[b].points))
        fail(parts[b].log->source,
             fmt::format("has the same times as {}: it would count twice", parts[a].log->source),
             "Give each log once");
      std::vector<double> ratios;
      std::vector<double> large;
      for (const MeasuredPoint& one : parts[a].points)
        for (const MeasuredPoint& other : parts[b].points)
          if (one.size == other.size) {
            ratios.push_back(std::log(other.time_us / one.time_us));
            if (one.size >= kLarge) large.push_back(ratios.back());
          }
      if (ratios.empty()) continue;
      double ratio = std::exp(median(std::move(ratios)));
      const double large_ratio = large.empty() ? ratio : std::exp(median(std::move(large)));
      const bool at_large = std::abs(std::log(large_ratio)) > std::abs(std::log(ratio));
      if (at_large) ratio = large_ratio;
      const std::string message = fmt::format(
          "takes {:.2f} times what {} takes on the same {} of {} GPUs (median{})", ratio,
          parts[a].log->source,
          parts[a].scale.nodes == 1 ? "node" : fmt::format("{} nodes", parts[a].scale.nodes),
          parts[a].scale.gpus_per_node, at_large ? " from 1 MiB" : "");
      if (ratio >= kContradiction || ratio <= 1 / kContradiction)
        fail(parts[b].log->source, message, contradiction_hint(parts[a], parts[b]));
      if (std::abs(std::log(ratio)) > 0.1)
        fit.notes.push_back(parts[b].log->source + " " + message +
                            ": intervals span both; measure once more, then leave one out");
    }
}

Cluster with(const Cluster& cluster, Calibration calibration) {
  Cluster out = cluster;
  out.calibration = std::make_shared<const Calibration>(std::move(calibration));
  return out;
}

/// What NCCL took at every point: what it printed, else what its table would, weighed so. And how
/// many of the choices it printed that table contradicts.
struct Choices {
  std::vector<CollectiveChoice> of;
  int contradicted = 0;
};

Choices choices_of(const std::vector<Part>& parts, const FittedSelection& selection) {
  Choices out;
  for (const Part& part : parts) {
    const Cluster cluster = with(part.cluster, {.selection = selection});
    for (const MeasuredPoint& point : part.points) {
      CollectiveChoice choice =
          choose(CollectiveKind::all_reduce, point.size, cluster, part.tuning);
      const auto& printed = part.log->decisions;
      const auto decision =
          std::find_if(printed.begin(), printed.end(),
                       [&](const NcclDecision& decided) { return decided.size == point.size; });
      if (decision != printed.end() &&
          (decision->algorithm != choice.algorithm || decision->protocol != choice.protocol)) {
        ++out.contradicted;
        CollectiveTuning forced = part.tuning;
        forced.algorithms = decision->algorithm;
        forced.protocols = decision->protocol;
        if (can_choose(cluster, forced))
          choice = choose(CollectiveKind::all_reduce, point.size, cluster, forced);
      }
      out.of.push_back(choice);
    }
  }
  return out;
}

/// Logarithm of how likely a selection is before any log is seen.
double expectation(const FittedSelection& selection, int contradicted) {
  const double tree = std::log(selection.tree_factor) / kWeighed;
  return -tree * tree / 2 + (selection.ll128_between_nodes ? 0 : std::log(kWithoutLl128)) +
         contradicted * std::log(kContradicted);
}

bool same_choices(const Choices& a, const Choices& b) {
  return std::equal(a.of.begin(), a.of.end(), b.of.begin(), b.of.end(),
                    [](const CollectiveChoice& one, const CollectiveChoice& other) {
                      return one.algorithm == other.algorithm && one.protocol == other.protocol &&
                             one.channels == other.channels;
                    });
}

/// Four in five repeats of a measurement lie within 1.28 of this: in place beside out of place of one
/// log, and each of two logs of one scale beside their mean, which the fit gives back. The wider of
/// the two decides: what one log repeats well, another day may not.
SizeSpread repeats_of(const std::vector<Part>& parts) {
  std::vector<std::pair<Bytes, double>> in_place;
  std::vector<std::pair<Bytes, double>> other_log;
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (const MeasuredPoint& point : parts[a].points) {
      if (point.in_place_us && *point.in_place_us > 0)
        in_place.emplace_back(point.size, std::abs(std::log(*point.in_place_us / point.time_us)));
      for (std::size_t b = 0; b < a; ++b)
        if (parts[a].scale == parts[b].scale)
          for (const MeasuredPoint& other : parts[b].points)
            if (other.size == point.size)
              other_log.emplace_back(point.size,
                                     std::abs(std::log(other.time_us / point.time_us)) / 2);
    }
  const auto one = [](const std::vector<std::pair<Bytes, double>>& all, Bytes from, Bytes to) {
    std::vector<double> within;
    for (const auto& [size, apart] : all)
      if (size >= from && size < to) within.push_back(apart);
    if (within.empty()) return 0.0;
    std::sort(within.begin(), within.end());
    const double last = static_cast<double>(within.size() - 1);
    return within[static_cast<std::size_t>(0.8 * last + 0.5)] / kFourInFive;
  };
  const auto wider = [&](Bytes from, Bytes to) {
    return std::max(one(in_place, from, to), one(other_log, from, to));
  };
  return {wider(Bytes(1), kSmall), wider(kSmall, kLarge), wider(kLarge, Bytes::max())};
}

/// The law's times of all parts, point by point, with a calibration.
std::vector<double> times_us(const std::vector<Part>& parts,
                             const std::vector<CollectiveChoice>& choices,
                             const Calibration& calibration) {
  std::vector<double> out;
  out.reserve(choices.size());
  for (const Part& part : parts) {
    const Cluster cluster = with(part.cluster, calibration);
    for (const MeasuredPoint& point : part.points)
      out.push_back(cost(CollectiveKind::all_reduce, choices[out.size()], point.size, cluster)
                        .microseconds());
  }
  return out;
}

struct Explained {
  FittedSelection selection;
  Choices choices;
  std::vector<CorrectionPlace> places;
  KrigingFit solved;
};

/// The constants, the correction and the selection that explain the logs best.
class Explanation {
 public:
  Explanation(const std::vector<Part>& parts, std::vector<CalibratedScale> scales)
      : parts_(parts), scales_(std::move(scales)) {
    problem_.prior = constants_of(parts.front().cluster);
    for (const Part& part : parts)
      for (const MeasuredPoint& point : part.points)
        problem_.log_measured.push_back(std::log(point.time_us));
    try_out({});
  }

  /// One thing changed at a time, from the best so far, until nothing more helps.
  Explained best() {
    for (double before = most_;; before = most_) {
      const FittedSelection from = best_.selection;
      for (const bool ll128 : {true, false}) {
        FittedSelection other = from;
        other.ll128_between_nodes = ll128;
        try_out(other);
      }
      const FittedSelection middle = best_.selection;
      for (const double factor : {1.0, 1.05, 0.95, 1.1, 0.9, 1.2, 0.8, 1.35, 0.7}) {
        FittedSelection other = middle;
        other.tree_factor = factor;
        try_out(other);
      }
      if (!(most_ > before)) return best_;
    }
  }

 private:
  void try_out(const FittedSelection& selection) {
    const Choices choices = choices_of(parts_, selection);
    if (std::any_of(seen_.begin(), seen_.end(),
                    [&](const Choices& before) { return same_choices(before, choices); }))
      return;
    seen_.push_back(choices);
    problem_.places.clear();
    for (const Part& part : parts_) {
      const Cluster cluster = with(part.cluster, {.scales = scales_});
      for (const MeasuredPoint& point : part.points)
        problem_.places.push_back(
            place_of(choices.of[problem_.places.size()], point.size, cluster));
    }
    problem_.law = [&](const PathConstants& constants) {
      std::vector<double> out = times_us(parts_, choices.of, {.constants = constants});
      for (double& value : out) value = std::log(value);
      return out;
    };
    KrigingFit solved = solve(problem_);
    const double likely = solved.evidence + expectation(selection, choices.contradicted);
    if (!(likely > most_) && !best_.choices.of.empty()) return;
    if (std::isfinite(likely)) most_ = likely;
    best_ = {selection, choices, problem_.places, std::move(solved)};
  }

  const std::vector<Part>& parts_;
  std::vector<CalibratedScale> scales_;
  KrigingProblem problem_;
  std::vector<Choices> seen_;
  Explained best_;
  double most_ = -std::numeric_limits<double>::infinity();
};

/// One standard deviation, by the middle two thirds: a few sizes may be far off.
double deviation(std::vector<double> logarithms) {
  if (logarithms.empty()) return 0;
  for (double& value : logarithms) value = std::abs(value);
  std::sort(logarithms.begin(), logarithms.end());
  const auto at = static_cast<std::size_t>(0.68 * static_cast<double>(logarithms.size() - 1) + 0.5);
  return std::max(kLeastMisfit, logarithms[at]);
}

SizeSpread misfit_of(const std::vector<FitResidual>& residuals) {
  const auto within = [&](Bytes from, Bytes to) {
    std::vector<double> logarithms;
    for (const FitResidual& row : residuals)
      if (row.size >= from && row.size < to)
        logarithms.push_back(std::log(row.measured_us / row.law_us));
    return deviation(std::move(logarithms));
  };
  SizeSpread misfit{within(Bytes(1), kSmall), within(kSmall, kLarge), within(kLarge, Bytes::max())};
  // A class nobody measured misses like the worst of the others.
  const double worst = std::max({misfit.small, misfit.middle, misfit.large});
  for (double* of : {&misfit.small, &misfit.middle, &misfit.large})
    if (*of == 0) *of = worst;
  return misfit;
}

/// Runs of sizes in one log where the law misses by a quarter and more on one side.
std::vector<std::string> breaks_of(const std::vector<FitResidual>& residuals,
                                   const std::vector<std::string>& sources) {
  constexpr double kQuarter = 0.223;  // log 1.25
  std::vector<std::string> out;
  const auto side = [&](const FitResidual& row) {
    const double miss = std::log(row.measured_us / row.law_us);
    return miss > kQuarter ? 1 : miss < -kQuarter ? -1 : 0;
  };
  for (std::size_t first = 0; first < residuals.size();) {
    std::size_t last = first;
    while (last + 1 < residuals.size() && residuals[last + 1].log == residuals[first].log &&
           side(residuals[last + 1]) == side(residuals[first]))
      ++last;
    if (side(residuals[first]) != 0) {
      double worst = 0;
      for (std::size_t i = first; i <= last; ++i) {
        const double miss = std::log(residuals[i].measured_us / residuals[i].law_us);
        if (std::abs(miss) > std::abs(worst)) worst = miss;
      }
      const std::string sizes = first == last ? size_text(residuals[first].size)
                                              : size_text(residuals[first].size) + " to " +
                                                    size_text(residuals[last].size);
      out.push_back(fmt::format("{} ({}x{}): at {} measured times are {} to {:.2f} of the law's",
                                sources[residuals[first].log], residuals[first].scale.nodes,
                                residuals[first].scale.gpus_per_node, sizes,
                                worst < 0 ? "down" : "up", std::exp(worst)));
    }
    first = last + 1;
  }
  return out;
}

std::vector<FittedConstant> constants_of_fit(const KrigingFit& solved, const PathConstants& prior) {
  std::vector<FittedConstant> out;
  for (std::size_t i = 0; i < law_parameters().size(); ++i) {
    const LawParameter& parameter = law_parameters()[i];
    // What the logs say nothing about stays what it was.
    if (!(solved.deviation[i] > 0) || solved.deviation[i] > 0.9 * parameter.doubt) continue;
    PathConstants before = prior;
    PathConstants after = solved.constants;
    const double value = parameter.of(after);
    const double wide = kFourInFive * solved.deviation[i];
    const double low = parameter.logarithm ? value - wide : value * std::exp(-wide);
    const double high =
        parameter.logarithm ? value + wide : std::min(value * std::exp(wide), parameter.most);
    out.push_back({std::string(parameter.name), std::string(parameter.which), parameter.of(before),
                   value, low, high});
  }
  return out;
}

}  // namespace

namespace {

/// What the logs say of NCCL's choices between nodes that its table would not; empty where nothing.
std::string note_of(const FittedSelection& selection) {
  std::string note;
  if (!selection.ll128_between_nodes) note = "NCCL seems not to take LL128 between nodes";
  if (selection.tree_factor != 1)
    note += fmt::format("{} trees {} than its table says (factor {} on its estimate)",
                        note.empty() ? "NCCL seems to take" : ", and to take",
                        selection.tree_factor < 1 ? "more readily" : "less readily",
                        selection.tree_factor);
  if (note.empty()) return "";
  return note +
         ": so the logs' changes of pace are explained best, and so it is predicted; a log "
         "with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING would settle it";
}

}  // namespace

Fit fit_calibration(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                    const FitOptions& options) {
  Fit fit;
  std::vector<Part> parts;
  for (const MeasuredLog& log : logs)
    if (auto part = part_of(log, cluster_at, options, fit)) parts.push_back(std::move(*part));
  check_agreement(parts, fit);
  parts = trusted(std::move(parts), options, fit);
  if (parts.empty()) {
    const std::string file = logs.empty() ? "command line" : logs.front().source;
    const std::string why = fit.left_out.empty() ? "" : fit.left_out.front().reason;
    fail(file, fit.left_out.empty() ? "no log to fit" : "nothing is left to fit: " + why,
         "Give a log of this cluster in a sound state");
  }

  std::size_t points = 0;
  for (const Part& part : parts) points += part.points.size();
  if (points > kMostPoints)
    fail(parts.front().log->source, fmt::format("{} sizes in all logs together", points),
         fmt::format("At most {}: a factor of two between sizes (-f 2) is enough", kMostPoints));
  Calibration& calibration = fit.calibration;
  for (const Part& part : parts)
    calibration.scales.push_back({part.scale.nodes, part.scale.gpus_per_node,
                                  part.points.front().size, part.points.back().size,
                                  part.log->source, part.faults.empty() ? "" : part.faults.front(),
                                  part.tuning.nccl});
  const Explained explained = Explanation(parts, calibration.scales).best();
  const std::vector<CollectiveChoice>& choices = explained.choices.of;
  const PathConstants prior = constants_of(parts.front().cluster);
  const KrigingFit& solved = explained.solved;

  calibration.constants = solved.constants;
  calibration.selection = explained.selection;
  if (const std::string note = note_of(explained.selection); !note.empty())
    fit.notes.push_back(note);
  const std::vector<double> law = times_us(parts, choices, calibration);
  for (std::size_t i = 0; i < choices.size(); ++i)
    calibration.correction.push_back({explained.places[i], solved.weights[i], solved.own[i]});
  const std::vector<double> calibrated = times_us(parts, choices, calibration);
  std::size_t row = 0;
  for (const Part& part : parts) {
    for (const MeasuredPoint& point : part.points) {
      fit.residuals.push_back({fit.used.size(), part.scale, point.size, choices[row], point.time_us,
                               law[row], calibrated[row]});
      ++row;
    }
    fit.used.push_back(part.log->source);
  }
  calibration.misfit = misfit_of(fit.residuals);
  calibration.repeats = repeats_of(parts);
  fit.constants = constants_of_fit(solved, prior);
  fit.law_breaks = breaks_of(fit.residuals, fit.used);
  return fit;
}

FitErrors errors_of(const std::vector<FitResidual>& residuals, Bytes from, bool law_alone) {
  std::vector<double> errors;
  for (const FitResidual& row : residuals)
    if (row.size >= from)
      errors.push_back(
          std::abs((law_alone ? row.law_us : row.calibrated_us) / row.measured_us - 1));
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.9), errors.size()};
}

}  // namespace ddpsim
