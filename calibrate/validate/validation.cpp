#include "ddpsim/calibrate/validate/validation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

constexpr double kNoErrorOfOurs = 100;  ///< none of our predictions is so far off
/// Caps that differ less count as equal when measured.
constexpr double kDifferencePercent = 2;

/// One value per name, in order of first appearance. Repeats of a size become their median.
std::vector<NamedFigure> merged(const std::vector<NamedFigure>& rows) {
  std::map<std::string, std::vector<double>> values;
  for (const NamedFigure& row : rows) values[row.name].push_back(row.us);
  std::vector<NamedFigure> out;
  for (const NamedFigure& row : rows) {
    auto& repeats = values[row.name];
    if (repeats.empty()) continue;
    out.push_back(row);
    out.back().us = median(repeats);
    repeats.clear();
  }
  return out;
}

bool same_bucketing(const CapFigure& a, const CapFigure& b) {
  if (!a.cap_mb || !b.cap_mb) return a.cap_mb == b.cap_mb && a.first == b.first;
  if (a.low > b.high || b.low > a.high) return false;
  return a.first_as_cap == b.first_as_cap && (a.first_as_cap || a.first == b.first);
}

const CapFigure* find(const std::vector<CapFigure>& caps, const CapFigure& sought) {
  const auto found = std::find_if(
      caps.begin(), caps.end(), [&](const CapFigure& cap) { return same_bucketing(cap, sought); });
  return found == caps.end() ? nullptr : &*found;
}

struct Pair {
  NamedFigure predicted, measured;
};

std::vector<Pair> pairs_of(const Figures& predicted, const Figures& measured) {
  std::vector<Pair> pairs;
  std::map<std::string, NamedFigure> by_name;
  for (NamedFigure& row : merged(predicted.rows)) by_name.emplace(row.name, row);
  for (const NamedFigure& row : merged(measured.rows)) {
    const auto found = by_name.find(row.name);
    if (found != by_name.end()) pairs.push_back({found->second, row});
  }
  for (const CapFigure& cap : measured.caps) {
    if (const CapFigure* found = find(predicted.caps, cap)) {
      pairs.push_back({found->figure, cap.figure});
    }
  }
  return pairs;
}

bool is_wanted(const std::string& name, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& start) {
           return name.starts_with(start);
         });
}

bool has_figure(const Figures& figures, std::string_view name) {
  return std::any_of(figures.rows.begin(), figures.rows.end(),
                     [&](const NamedFigure& row) { return row.name == name; });
}

/// Why the most wanted value, the iteration, is missing. Empty if it is there.
std::string no_iteration(const Figures& predicted, const Figures& measured) {
  for (const auto& [one, other] :
       {std::pair(&predicted, &measured), std::pair(&measured, &predicted)})
    if (has_figure(*one, "iteration") && has_figure(*other, "gpu_span"))
      return fmt::format(
          "iteration is not compared: {} is a timeline, which does not tell when the next step "
          "begins",
          other->source);
  return "";
}

constexpr std::string_view kBucketRow = "bucket ";

bool same_buckets(const Figures& a, const Figures& b) {
  return a.bucket_bytes.empty() || b.bucket_bytes.empty() || a.bucket_bytes == b.bucket_bytes;
}

std::string sizes_of(const Figures& figures) {
  std::vector<std::string> sizes;
  for (const Bytes bytes : figures.bucket_bytes) sizes.push_back(std::to_string(bytes.count()));
  constexpr std::size_t kShown = 8;
  const bool more = sizes.size() > kShown;
  if (more) sizes.resize(kShown);
  return fmt::format("{}{}", fmt::join(sizes, ", "), more ? ", …" : "");
}

/// Rows of one side that the other side lacks.
std::string lacking(const Figures& of, const Figures& other, std::string_view side) {
  std::vector<std::string> names;
  for (const NamedFigure& row : of.rows)
    if (!has_figure(other, row.name) && std::ranges::find(names, row.name) == names.end())
      names.push_back(row.name);
  if (names.empty()) return "";
  constexpr std::size_t kShown = 8;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return fmt::format("only {}: {}{}", side, fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string names_of(const Figures& figures) {
  std::vector<std::string> names;
  for (const NamedFigure& row : figures.rows) names.push_back(row.name);
  for (const CapFigure& cap : figures.caps) names.push_back(cap.figure.name);
  constexpr std::size_t kShown = 4;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

[[noreturn]] void nothing_in_common(const Figures& predicted, const Figures& measured,
                                    const std::vector<std::string>& only) {
  if (!only.empty()) {
    throw InputError({measured.source, "",
                      fmt::format("no common value with {} begins with {}", predicted.source,
                                  fmt::join(only, " or ")),
                      "Leave out --only to see all values"});
  }
  throw InputError(
      {measured.source, "",
       fmt::format("is {} and has no value in common with {}, which is {}", measured.kind,
                   predicted.source, predicted.kind),
       fmt::format("One has {}; the other has {}", names_of(measured), names_of(predicted))});
}

/// Example: "2 x 4 GPUs".
std::string nodes_of(const Figures& figures) {
  return figures.gpus_per_node ? fmt::format("{} x {} GPUs", *figures.nodes, *figures.gpus_per_node)
                               : fmt::format("{} nodes", *figures.nodes);
}

void check_units(const std::vector<Pair>& pairs, const Figures& predicted,
                 const Figures& measured) {
  std::vector<double> ratios;
  for (const Pair& pair : pairs) {
    if (pair.measured.us > 0 && pair.predicted.us > 0) {
      ratios.push_back(pair.predicted.us / pair.measured.us);
    }
  }
  if (ratios.empty()) return;
  const double ratio = median(std::move(ratios));
  if (ratio < kNoErrorOfOurs && ratio > 1 / kNoErrorOfOurs) return;
  throw InputError({measured.source, pairs.front().measured.place,
                    fmt::format("{} is {:.6g} us here and {:.6g} us in {}, and the others differ "
                                "the same way",
                                pairs.front().measured.name, pairs.front().measured.us,
                                pairs.front().predicted.us, predicted.source),
                    "Times must be in microseconds. Are these milliseconds or seconds?"});
}

CapValidation validate_caps(const Figures& predicted, const Figures& measured) {
  CapValidation result;
  std::vector<std::pair<double, double>> both;  // measured, predicted
  const CapFigure* best = nullptr;
  for (const CapFigure& cap : measured.caps) {
    if (best == nullptr || cap.figure.us < best->figure.us) best = &cap;
    if (const CapFigure* found = find(predicted.caps, cap)) {
      both.emplace_back(cap.figure.us, found->figure.us);
    }
  }
  for (std::size_t i = 0; i < both.size(); ++i) {
    for (std::size_t j = i + 1; j < both.size(); ++j) {
      const double difference = both[i].first - both[j].first;
      const double share = 100 * std::abs(difference) / std::min(both[i].first, both[j].first);
      if (share <= kDifferencePercent) continue;
      ++result.pairs;
      const double ours = both[i].second - both[j].second;
      if ((ours > 0) == (difference > 0) && ours != 0) ++result.right_sign;
    }
  }
  result.measured_best = best->figure.name;
  if (!predicted.advised) return result;
  result.chosen = predicted.advised->figure.name;
  // Measured with any cap that gives the same buckets as the recommended one.
  const CapFigure* advised = find(predicted.caps, *predicted.advised);
  if (advised == nullptr) advised = &*predicted.advised;
  if (const CapFigure* chosen = find(measured.caps, *advised)) {
    result.regret_percent = 100 * (chosen->figure.us - best->figure.us) / best->figure.us;
  }
  return result;
}

void require_same_job(const Figures& predicted, const Figures& measured) {
  if (predicted.ranks && measured.ranks && *predicted.ranks != *measured.ranks) {
    throw InputError({measured.source, "",
                      fmt::format("has {} ranks, but {} has {}", *measured.ranks, predicted.source,
                                  *predicted.ranks),
                      "Predict for the same number: --nodes, --gpus-per-node"});
  }
  if (predicted.nodes && measured.nodes && *predicted.nodes != *measured.nodes) {
    throw InputError({measured.source, "",
                      fmt::format("has {}, but {} has {}", nodes_of(measured), predicted.source,
                                  nodes_of(predicted)),
                      "Predict for the same number: --nodes, --gpus-per-node"});
  }
}

/// Compares each pair in a row. A value measured as 0 has no error in percent.
void compare_times(const std::vector<Pair>& pairs, Validation& validation) {
  for (const Pair& pair : pairs) {
    if (!(pair.measured.us > 0)) {
      // Zero predicted for zero measured is right.
      if (pair.predicted.us != 0) {
        validation.notes.push_back(
            fmt::format("{} was measured as 0 and is left out (predicted: {:.6g} us)",
                        pair.measured.name, pair.predicted.us));
      }
      continue;
    }
    ValidationRow row;
    row.name = pair.measured.name;
    row.measured = pair.measured.us;
    row.predicted = pair.predicted.us;
    row.error_percent = 100 * (row.predicted - row.measured) / row.measured;
    if (pair.predicted.low_us && pair.predicted.high_us) {
      row.within_interval =
          row.measured >= *pair.predicted.low_us && row.measured <= *pair.predicted.high_us;
    }
    validation.rows.push_back(std::move(row));
  }
}

void compare_caps(const Figures& predicted, const Figures& measured, Validation& validation) {
  validation.caps = validate_caps(predicted, measured);
  const std::size_t compared = static_cast<std::size_t>(
      std::count_if(measured.caps.begin(), measured.caps.end(),
                    [&](const CapFigure& cap) { return find(predicted.caps, cap) != nullptr; }));
  if (compared < measured.caps.size()) {
    validation.notes.push_back(fmt::format("{} of {} measured caps are not on the curve",
                                           measured.caps.size() - compared, measured.caps.size()));
  }
}

void summarise(Validation& validation) {
  std::vector<double> errors;
  for (const ValidationRow& row : validation.rows) {
    const double error = std::abs(row.error_percent);
    if (errors.empty() || error > validation.worst_abs_error_percent) {
      validation.worst_abs_error_percent = error;
      validation.worst_name = row.name;
    }
    errors.push_back(error);
    if (!row.within_interval) continue;
    ++validation.intervals;
    if (*row.within_interval) ++validation.within_intervals;
  }
  validation.median_abs_error_percent = median(errors);
  validation.p90_abs_error_percent = quantile(errors, 0.9);
}

}  // namespace

Validation validate(const Figures& predicted, const Figures& measured,
                    const std::vector<std::string>& only) {
  require_same_job(predicted, measured);
  std::vector<Pair> pairs = pairs_of(predicted, measured);
  std::erase_if(pairs, [&](const Pair& pair) { return !is_wanted(pair.measured.name, only); });
  if (pairs.empty()) nothing_in_common(predicted, measured, only);
  Validation validation;
  if (!same_buckets(predicted, measured)) {
    validation.notes.push_back(
        fmt::format("the buckets differ, so their all-reduces are not compared: {} bytes "
                    "predicted, {} measured",
                    sizes_of(predicted), sizes_of(measured)));
    std::erase_if(pairs,
                  [](const Pair& pair) { return pair.measured.name.starts_with(kBucketRow); });
    if (pairs.empty()) nothing_in_common(predicted, measured, only);
  }
  check_units(pairs, predicted, measured);
  if (!predicted.gpu.empty() && !measured.gpu.empty() && predicted.gpu != measured.gpu) {
    validation.notes.push_back(fmt::format("predicted for {}, measured on {}: is this the cluster?",
                                           predicted.gpu, measured.gpu));
  }
  if (const std::string note = no_iteration(predicted, measured); only.empty() && !note.empty())
    validation.notes.push_back(note);
  compare_times(pairs, validation);
  if (validation.rows.empty()) nothing_in_common(predicted, measured, only);
  if (only.empty())
    for (const std::string& note :
         {lacking(predicted, measured, "predicted"), lacking(measured, predicted, "measured")})
      if (!note.empty()) validation.notes.push_back(note);
  summarise(validation);
  validation.own_calibration =
      !measured.digest.empty() && std::ranges::count(predicted.calibrated_by, measured.digest) > 0;
  if (!predicted.caps.empty() && !measured.caps.empty())
    compare_caps(predicted, measured, validation);
  return validation;
}

}  // namespace ddpsim
