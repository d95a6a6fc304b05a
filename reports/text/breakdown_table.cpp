#include "breakdown_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "loss_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

/// A row of the table. Rows that are not `within` another one add up to the step. A row that may be
/// absent is printed only if it takes time.
struct Part {
  std::string_view name;  ///< empty: the loss's name
  Duration StepTimes::*time;
  bool within = false;  ///< contained in the row above
  bool may_be_absent = false;
};
constexpr std::array kParts = {
    Part{"forward", &StepTimes::forward},
    Part{"  of it buffer broadcast", &StepTimes::buffer_broadcast, true, true},
    Part{"backward", &StepTimes::backward},
    Part{"  of it copies into buckets", &StepTimes::copies_in, true, true},
    Part{"  of it slowed by NCCL", &StepTimes::interference, true, true},
    Part{"SyncBatchNorm", &StepTimes::sync_batchnorm, false, true},
    Part{"waiting for the slowest GPU", &StepTimes::slowest_gpu, false, true},
    Part{"", &StepTimes::unexplained, false, true},
    Part{"exposed communication", &StepTimes::exposed_communication},
    Part{"  of it in forward", &StepTimes::exposed_in_forward, true, true},
    Part{"  of it after the optimizer", &StepTimes::exposed_in_optimizer, true, true},
    Part{"finalize (copies out)", &StepTimes::finalize},
    Part{"optimizer", &StepTimes::optimizer},
    Part{"model averaging", &StepTimes::model_averaging, false, true},
    Part{"stall and gaps", &StepTimes::stall, false, true},
};

/// The numbers as printed: rounded parts that add up to the step, and the rows within them.
std::vector<std::string> part_numbers(const StepTimes& times, int decimals, TimeUnit unit) {
  std::vector<double> parts;
  for (const Part& part : kParts)
    if (!part.within) parts.push_back(in_unit(times.*part.time, unit));
  const auto largest = std::ranges::max_element(parts) - parts.begin();
  const std::vector<std::string> added =
      adding_up(parts, in_unit(times.iteration, unit), decimals, static_cast<std::size_t>(largest));
  std::vector<std::string> numbers;
  std::size_t next = 0;
  for (const Part& part : kParts)
    numbers.push_back(part.within ? fixed(in_unit(times.*part.time, unit), decimals)
                                  : added[next++]);
  return numbers;
}

}  // namespace

double percent_of(Duration part, Duration whole) {
  return whole == Duration() ? 0 : 100 * (part / whole);
}

bool corrections_differ(const Trust& trust) {
  constexpr double kApart = 0.01;  // measurable share of the step
  if (!trust.correction) return false;
  const StepTimes& one = trust.correction->all_compute.times;
  const StepTimes& other = trust.correction->all_communication.times;
  return std::abs(one.blocking_communication() / one.iteration -
                  other.blocking_communication() / other.iteration) >= kApart;
}

std::string breakdown_table(const StepTimes& times, const ReportContext& context,
                            const TerminalStyle& style) {
  constexpr int kWithoutBar = 50;
  // A part that takes a hundredth of the step is printed with two digits.
  constexpr double kDetail = 100;
  const int bar_cells = std::clamp(style.width - kWithoutBar, 8, 30);
  const TimeUnit unit = unit_for(times.iteration);
  const int decimals = decimals_for(in_unit(times.iteration, unit) / kDetail);
  // How the step divides if the replay error is attributed to collectives.
  const StepTimes* other = corrections_differ(context.trust)
                               ? &context.trust.correction->all_communication.times
                               : nullptr;
  std::vector<Column> columns = {{"where the step goes"},
                                 {std::string(name_of(unit)), Align::right},
                                 {"share", Align::right},
                                 {"", Align::left, 1}};
  if (other) columns.push_back({"if error in collectives", Align::right, 2});
  Table table(std::move(columns));
  const std::vector<std::string> numbers = part_numbers(times, decimals, unit);
  const std::vector<std::string> others = part_numbers(other ? *other : times, decimals, unit);
  const auto add = [&](std::string_view name, const std::string& number, std::string share,
                       std::string shown, const std::string& beside) {
    std::vector<std::string> cells = {std::string(name), number, std::move(share),
                                      std::move(shown)};
    if (other) cells.push_back(beside);
    table.add_row(std::move(cells));
  };
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const Part& part = kParts[i];
    const Duration time = times.*part.time;
    const bool absent = time == Duration() && (!other || (*other).*part.time == Duration());
    if (part.may_be_absent && absent) continue;
    const double percent = percent_of(time, times.iteration);
    const std::string_view name =
        part.name.empty() ? label_of(LossCause::unexplained, loss_words(context, times.iteration))
                          : part.name;
    add(name, numbers[i], part.within ? "" : percent_text(percent),
        part.within ? "" : bar(percent / 100, bar_cells), others[i]);
  }
  add("step", fixed(in_unit(times.iteration, unit), decimals), "100 %", "",
      fixed(in_unit((other ? *other : times).iteration, unit), decimals));
  return table.text(style);
}

}  // namespace ddpsim
