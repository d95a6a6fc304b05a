#include "figure_words.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string lower_or_higher(double percent) {
  return fmt::format("{} % {}", significant(std::abs(percent), 2),
                     percent < 0 ? "lower" : "higher");
}

/// "training speed, samples/s (15900 to 83800) against GPUs (7.57 to 33.8)."
std::string axes_of(const plot::Chart& chart) {
  constexpr int kDigits = 3;
  const auto range = [](const plot::Axis& axis) {
    return fmt::format("{} ({} to {})", axis.title, significant(axis.scale.low(), kDigits),
                       significant(axis.scale.high(), kDigits));
  };
  const std::string caption = chart.caption.empty() ? "" : chart.caption + ": ";
  return chart.rows ? caption
                    : fmt::format("{}{} against {}.", caption, range(chart.y), range(chart.x));
}

}  // namespace

std::string first_line_of(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string shared_error(const Confidence& confidence) {
  return fmt::format(
      "The whole curve may lie {} to {} (80 % interval): errors move all caps by nearly the same "
      "share.",
      lower_or_higher(confidence.low_percent), lower_or_higher(confidence.high_percent));
}

std::string as_note(std::string provenance) {
  if (provenance.empty()) return "";
  provenance.front() = static_cast<char>(std::toupper(provenance.front()));
  return provenance + '.';
}

std::string description_of(const plot::Chart& chart) {
  std::string text = chart.verdict.empty() ? "" : chart.verdict + ' ';
  text += axes_of(chart);
  const auto add = [&](const std::string& name) {
    if (!name.empty()) text += ' ' + name + ';';
  };
  for (const plot::Spot& spot : chart.spots) add(spot.name);
  for (const plot::ShadedRange& range : chart.ranges) add(range.name);
  for (const plot::Level& level : chart.levels) add(level.name);
  for (const plot::Phase& phase : chart.phases) add(phase.name);
  for (const plot::Series& series : chart.series) {
    if (series.values.empty()) continue;
    add(series.name);
    add(series.values.front().told);
    if (series.values.size() > 1) add(series.values.back().told);
  }
  if (text.ends_with(';')) text.back() = '.';
  return text;
}

std::string description_of(const std::vector<plot::Chart>& charts) {
  std::string text;
  for (const plot::Chart& chart : charts)
    text += text.empty() ? description_of(chart)
                         : ' ' + (chart.caption.empty() ? axes_of(chart) : description_of(chart));
  return text;
}

}  // namespace ddpsim
