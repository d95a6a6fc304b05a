#include "elastic_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cost_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

/// "30 s", "100 ms"
std::string duration_text(double seconds) {
  return seconds > 0 && seconds < 1 ? significant(1000 * seconds, 2) + " ms"
                                    : long_time(seconds, 2);
}

/// A mean over seeds with three digits, without zeros after the point: "157", "22", "1.25".
std::string mean_count(double mean) {
  std::string text = significant(mean, 3);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

const char* words_of(RunPart part) {
  switch (part) {
    case RunPart::training:
      return "training that lasts (goodput)";
    case RunPart::fewer_nodes:
      return "fewer nodes";
    case RunPart::checkpoints:
      return "checkpoints";
    case RunPart::lost_work:
      return "work lost since a checkpoint";
    case RunPart::detection:
      return "until agents notice a failure";
    case RunPart::stop:
      return "workers stop";
    case RunPart::rendezvous:
      return "rendezvous";
    case RunPart::waiting:
      return "waiting for MIN nodes";
    case RunPart::start:
      return "workers start";
    case RunPart::load:
      return "checkpoint loads";
    case RunPart::ended:
      return "job ended, not yet resubmitted";
  }
  return "";
}

double share(const ElasticAnswer& elastic, RunPart part) {
  return elastic.parts[static_cast<std::size_t>(part)] / seconds_of(elastic.length);
}

std::string nodes_text(const ElasticOptions& options) {
  return options.min_nodes == options.max_nodes
             ? counted(static_cast<std::uint64_t>(options.max_nodes), "node")
             : fmt::format("{} to {} nodes", options.min_nodes, options.max_nodes);
}

std::string goodput_text(const Sampled& goodput) {
  return fmt::format("{:.2f} ± {:.2f} %", 100 * goodput.mean, 100 * goodput.standard_error);
}

std::string interval_sentence(const ElasticAnswer& elastic) {
  std::string text;
  if (elastic.asked.options.checkpoint <= RunTime())
    return "Checkpoints cost nothing (assumed: --checkpoint) and are taken after every step.";
  text = fmt::format("Best checkpoint interval: {} ({} to {} are as good)",
                     long_time(elastic.best_interval, 2), long_time(elastic.best_low, 2),
                     long_time(elastic.best_high, 2));
  text += fmt::format(
      "; Young's formula gives {}, Daly's {}, where Daly predicts {:.2f} % and the simulation {}.",
      long_time(elastic.young_interval, 2), long_time(elastic.daly_interval, 2),
      100 * elastic.daly_goodput, goodput_text(elastic.goodput_at_daly));
  if (elastic.asked.checkpoint_interval)
    text += fmt::format(" The interval used is {}; the best one would give {:.2f} % goodput.",
                        long_time(elastic.interval, 2), 100 * elastic.best_goodput);
  return text;
}

std::string restart_sentence(const ElasticRestart& restart) {
  using After = ElasticRestart::After;
  const char* what = restart.after == After::process     ? "a process died"
                     : restart.after == After::lost_node ? "a node was lost"
                                                         : "a node joined";
  std::vector<std::string> parts;
  double sum = 0;
  for (std::size_t part = 0; part < kRunParts; ++part) {
    sum += restart.parts[part];
    if (restart.parts[part] > 0)
      parts.push_back(fmt::format("{} {}", name_of(static_cast<RunPart>(part)),
                                  duration_text(restart.parts[part])));
  }
  return fmt::format("Restart after {}{}: {} ({}).", what, restart.ends_job ? ", a new job" : "",
                     duration_text(sum), fmt::join(parts, ", "));
}

std::string ended_sentence(const ElasticAnswer& elastic) {
  if (elastic.ended == 0) return "";
  const ElasticOptions& options = elastic.asked.options;
  std::vector<std::string> why;
  for (std::size_t end = 0; end < kRunEnds; ++end) {
    if (elastic.ended_by[end] == 0) continue;
    std::string words;
    switch (static_cast<RunEnd>(end)) {
      case RunEnd::restarts_used_up:
        words = fmt::format("all restarts were used (max_restarts={}{})", options.max_restarts,
                            options.max_restarts == 0 ? ", torchrun's default" : "");
        break;
      case RunEnd::store_lost:
        words = "the node with the rendezvous store was lost (store=node)";
        break;
      case RunEnd::join_timed_out:
        words = fmt::format("fewer than {} nodes joined within join_timeout={}", options.min_nodes,
                            duration_text(seconds_of(options.join_timeout)));
        break;
    }
    why.push_back(fmt::format("{} times because {}", mean_count(elastic.ended_by[end]), words));
  }
  return fmt::format("The job ended and had to be resubmitted: {}.", fmt::join(why, ", "));
}

std::string ended_line(const ElasticAnswer& elastic, const TerminalStyle& style) {
  const std::string sentence = ended_sentence(elastic);
  return sentence.empty() ? "" : wrapped(sentence, style.width, kIndent);
}

std::string assumed_sentence(const ElasticAnswer& elastic) {
  if (elastic.sensitivity.empty()) return "";
  std::vector<std::string> parts;
  for (const ElasticSensitivity& one : elastic.sensitivity)
    parts.push_back(fmt::format(
        "{}={} ({:.2f} to {:.2f} %)", one.key,
        one.key == "process_share" ? fmt::format("{:.3g}", one.value) : duration_text(one.value),
        100 * one.half, 100 * one.twice));
  return fmt::format("Assumed, with goodput at half and at twice each value: {}.",
                     fmt::join(parts, ", "));
}

}  // namespace

std::string elastic_line(const ElasticAnswer& elastic, const std::string& label,
                         const TerminalStyle& style) {
  std::string text = fmt::format("Simulated goodput of {} on {}: {} with a checkpoint every {}",
                                 printable(label), nodes_text(elastic.asked.options),
                                 goodput_text(elastic.goodput), duration_text(elastic.interval));
  if (elastic.daly_interval > 0)
    text += fmt::format("; Daly's formula, with a restart of {}, gives {:.2f} % with one every {}",
                        duration_text(elastic.pause), 100 * elastic.daly_goodput,
                        duration_text(elastic.daly_interval));
  text += ". " + ended_sentence(elastic);
  if (text.ends_with(' ')) text.pop_back();
  return wrapped(text, style.width, kIndent);
}

std::string elastic_verdict(const ElasticAnswer& elastic, const TerminalStyle& style) {
  const ElasticOptions& options = elastic.asked.options;
  std::string lines =
      wrapped(fmt::format("Goodput {} in a run of {} on {}, each failing every {}: the share of "
                          "training that lasts, as if on {} (standard error over {} seeds).",
                          goodput_text(elastic.goodput), long_time(seconds_of(elastic.length), 3),
                          nodes_text(options), long_time(elastic.asked.node_mtbf_seconds, 3),
                          counted(static_cast<std::uint64_t>(options.max_nodes), "node"),
                          elastic.asked.seeds),
              style.width, kIndent);
  lines += wrapped(fmt::format("{} failures and {} restarts; a node joined {} times.",
                               mean_count(elastic.failures), mean_count(elastic.restarts),
                               mean_count(elastic.membership_changes)),
                   style.width, kIndent);
  return lines + ended_line(elastic, style) +
         wrapped(interval_sentence(elastic), style.width, kIndent);
}

std::string elastic_table(const ElasticAnswer& elastic, const TerminalStyle& style) {
  constexpr int kWithoutBar = 56;
  constexpr double kLeast = 5e-6;
  Table table({{"where a run's time goes"}, {"%", Align::right}, {"", Align::left, 1}});
  std::vector<RunPart> order;
  for (std::size_t part = 0; part < kRunParts; ++part)
    if (std::abs(share(elastic, static_cast<RunPart>(part))) >= kLeast)
      order.push_back(static_cast<RunPart>(part));
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](RunPart part) { return share(elastic, part); });
  const int cells = std::clamp(style.width - kWithoutBar, 8, 30);
  for (const RunPart part : order)
    table.add_row({words_of(part), fmt::format("{:.2f}", 100 * share(elastic, part)),
                   bar(std::max(share(elastic, part), 0.0), cells)});
  return table.text(style);
}

std::string elastic_lines(const ElasticAnswer& elastic, const TerminalStyle& style) {
  std::string lines;
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) lines += wrapped(sentence, style.width, kIndent);
  };
  for (const ElasticRestart& restart : elastic.interruptions) add(restart_sentence(restart));
  add(assumed_sentence(elastic));
  return lines;
}

}  // namespace ddpsim
