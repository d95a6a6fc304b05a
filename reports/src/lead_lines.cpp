#include "lead_lines.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "ddpsim/sim/size_text.hpp"
#include "error_source.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string percent_of_speed(double percent) {
  return significant(std::abs(percent), 2) + " %";
}

/// One bound of a lead: "3 % slower", "12 % faster".
std::string bound_text(double percent) {
  return percent_of_speed(percent) + (percent < 0 ? " slower" : " faster");
}

/// What reads as 0.0 %.
constexpr double kEqual = 0.05;

/// A lead of this and more reads better as a factor.
constexpr double kAsFactor = 50;

double factor(double percent) {
  return 1 + percent / 100;
}

/// "1.9", "1.7 to 2.1"
std::string factor_text(const Lead& lead) {
  return significant(factor(lead.percent), 2);
}
std::string factor_interval(const Lead& lead) {
  return interval_text(factor(lead.low_percent), factor(lead.high_percent), 2);
}

std::string certain_lead(const Lead& lead, const std::string& fastest, const std::string& other) {
  if (lead.percent < kAsFactor)
    return fmt::format("{} trains {} faster than {} ({}).", fastest, percent_of_speed(lead.percent),
                       other, interval_text(lead.low_percent, lead.high_percent, 2, " %"));
  return fmt::format("{} trains {} times as fast as {} ({}).", fastest, factor_text(lead), other,
                     factor_interval(lead));
}

std::string open_lead(const Lead& lead, const std::string& fastest, const std::string& other) {
  if (lead.percent < kEqual)
    return fmt::format("{} and {} train equally fast, as far as is known: {} to {}.", fastest,
                       other, bound_text(lead.low_percent), bound_text(lead.high_percent));
  return fmt::format("Not decided: {} is predicted to train {} than {}, but it may be {} to {}.",
                     fastest, bound_text(lead.percent), other, bound_text(lead.low_percent),
                     bound_text(lead.high_percent));
}

/// "tree/LL128 on 8 channels"
std::string choice_text(const CollectiveChoice& choice) {
  return fmt::format("{}/{} on {}", name_of(choice.algorithm), name_of(choice.protocol),
                     counted(static_cast<std::uint64_t>(choice.channels), "channel"));
}

/// Where one cluster is the other with more: that NCCL chooses otherwise there.
std::string other_choice_text(const OtherChoice& choice, const std::string& fastest,
                              const std::string& other) {
  return fmt::format("for {} NCCL takes {} on {}, {} on {}", rounded_size_text(choice.size),
                     choice_text(choice.on_faster), fastest, choice_text(choice.on_other), other);
}

/// Why nothing decides: the widest source that turns the order round by itself, or that none does.
std::string undecided_by(const Lead& lead) {
  for (const LeadSource& source : lead.sources)
    if (source.low_percent < 0)
      return fmt::format("Turned round by {} alone: {} to {}.", phrase_of(source.source),
                         bound_text(source.low_percent), bound_text(source.high_percent));
  return lead.sources.empty()
             ? ""
             : fmt::format("Several errors together turn it round, none alone; the widest is {}.",
                           phrase_of(lead.sources.front().source));
}

}  // namespace

std::string name_of_job(const ReportContext& context) {
  return fmt::format("{} ({})", printable(context.cluster),
                     counted(static_cast<std::uint64_t>(context.ranks), "GPU"));
}

std::string lead_sentence(const Lead& lead, const std::string& fastest, const std::string& other) {
  if (lead.same)
    return fmt::format("{} and {} are one and the same: equally fast, certainly.", fastest, other);
  if (lead.never_slower && !lead.certain())
    return lead.percent < kEqual
               ? fmt::format("{} gains nothing over {}: 0 to {}.", fastest, other,
                             bound_text(lead.high_percent))
               : fmt::format("{} trains {} faster than {} ({}), and never slower.", fastest,
                             percent_of_speed(lead.percent), other,
                             interval_text(lead.low_percent, lead.high_percent, 2, " %"));
  return lead.certain() ? certain_lead(lead, fastest, other) : open_lead(lead, fastest, other);
}

std::string lead_reason(const Lead& lead, const std::string& fastest, const std::string& other) {
  if (lead.same) return "";
  if (lead.upgrade_is_slower) {
    const std::string because = lead.other_choice
                                    ? other_choice_text(*lead.other_choice, fastest, other)
                                    : "what NCCL makes of it takes longer";
    return fmt::format("{} is {} with more, and yet predicted {}: {}.", other, fastest,
                       lead.percent < kEqual ? "no faster" : "slower", because);
  }
  if (lead.never_slower)
    return fmt::format("{} is {} with more, and NCCL chooses the same on both.", fastest, other);
  std::string text;
  if (lead.other_choice)
    text = fmt::format("{} is {} with more, but {}. ", fastest, other,
                       other_choice_text(*lead.other_choice, fastest, other));
  return lead.certain() ? text : text + undecided_by(lead);
}

std::string until_sentence(const Until& until, const std::vector<ReportContext>& contexts) {
  const auto name = [&](std::size_t place) {
    return printable(contexts[until.jobs[place]].cluster);
  };
  const std::string last = name(until.jobs.size() - 1);
  const TippingPoint& point = until.point;
  const std::string& condition = until.condition.text;
  if (!point.earliest) return fmt::format("{}: nowhere up to {}, in any case.", condition, last);
  const std::string earliest = name(*point.earliest);
  const std::string latest = point.latest ? "by " + name(*point.latest) : "perhaps nowhere";
  if (!point.predicted)
    return fmt::format("{}: not predicted up to {}; it may be from {} on.", condition, last,
                       earliest);
  if (point.latest && *point.earliest == *point.latest)
    return fmt::format("{}: from {} on, certainly.", condition, name(*point.predicted));
  return fmt::format("{}: predicted from {} on; it may be from {} on, {}.", condition,
                     name(*point.predicted), earliest,
                     point.latest ? fmt::format("and is {} at the latest", latest) : latest);
}

std::string lead_text(const Lead& lead) {
  if (lead.same) return "the same";
  if (lead.percent >= kAsFactor)
    return fmt::format("x{} ({})", factor_text(lead), factor_interval(lead));
  return fmt::format("{} % ({})", significant(lead.percent, 2),
                     interval_text(lead.low_percent, lead.high_percent, 2));
}

}  // namespace ddpsim
