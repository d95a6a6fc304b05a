// Turns the content of a log into usable logs: merges runs of one shape and checks everything once.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "log_shape.hpp"
#include "nccl_debug.hpp"
#include "rank_count.hpp"
#include "raw_log.hpp"
#include "row_checks.hpp"
#include "times_apart.hpp"

namespace ddpsim {
namespace {

void sort_decisions(std::vector<NcclDecision>& decisions) {
  std::ranges::stable_sort(decisions, {}, &NcclDecision::size);
  const auto same_size = [](const NcclDecision& a, const NcclDecision& b) {
    return a.size == b.size;
  };
  decisions.erase(std::unique(decisions.begin(), decisions.end(), same_size), decisions.end());
}

class Assembly {
 public:
  Assembly(const RawLog& raw, std::optional<JobShape> stated) : raw_(raw), stated_(stated) {}
  std::vector<MeasuredLog> run();

 private:
  [[noreturn]] void fail(const std::string& place, std::string message, Hint hint) const {
    throw InputError({raw_.file, place, std::move(message), std::move(hint)});
  }
  bool is_all_reduce(const RawRun& run);
  std::vector<RawRow> rows_of_one_type(const RawRun& run);
  MeasuredLog measured(const RawRun& run);
  void take_debug_lines(MeasuredLog& log, std::size_t first, std::size_t end) const;
  void pool(MeasuredLog& into, MeasuredLog log) const;
  void say_settings(std::vector<MeasuredLog>& logs) const;
  MeasuredLog debug_lines_alone() const;
  void describe(MeasuredLog& log, std::size_t tables) const;
  static void warn_once(MeasuredLog& log, std::string warning) {
    if (std::find(log.warnings.begin(), log.warnings.end(), warning) == log.warnings.end()) {
      log.warnings.push_back(std::move(warning));
    }
  }

  const RawLog& raw_;
  const std::optional<JobShape> stated_;
  std::vector<std::string> left_out_;
  /// Reasons why tables were invalid next to valid ones; one sentence each.
  std::vector<std::string> unsound_;
};

std::vector<MeasuredLog> Assembly::run() {
  std::vector<MeasuredLog> logs;
  std::vector<std::size_t> tables;
  std::vector<const RawRun*> runs;
  for (const RawRun& run : raw_.runs) {
    if (!run.rows.empty() && is_all_reduce(run)) runs.push_back(&run);
  }
  // A stated shape selects its runs among several. If none has that shape, the first run names its
  // own in the message.
  const auto stated_one = [&](const RawRun* run) {
    return !stated_ || is_of_shape(*run, *stated_);
  };
  if (std::any_of(runs.begin(), runs.end(), stated_one)) {
    for (const RawRun* run : runs) {
      if (!stated_one(run)) left_out_.push_back(run->rows.front().place + ": another job shape");
    }
    std::erase_if(runs, [&](const RawRun* run) { return !stated_one(run); });
  }
  std::optional<Diagnostic> unsound;
  for (const RawRun* const run : runs) {
    MeasuredLog log;
    try {
      log = measured(*run);
      // An invalid table among several does not invalidate the others.
    } catch (const InputError& error) {
      if (!unsound) unsound = error.diagnostic();
      unsound_.push_back(fmt::format("the table at {} is left out: {}", run->rows.front().place,
                                     error.diagnostic().message));
      continue;
    }
    if (log.points.empty()) continue;
    const auto same = std::find_if(logs.begin(), logs.end(), [&](const MeasuredLog& other) {
      return other.ranks == log.ranks && other.nodes == log.nodes &&
             other.gpus_per_node == log.gpus_per_node && other.gpu == log.gpu &&
             other.timed_by == log.timed_by &&
             settings_text(other.settings) == settings_text(log.settings);
    });
    if (same == logs.end()) {
      logs.push_back(std::move(log));
      tables.push_back(1);
      continue;
    }
    pool(*same, std::move(log));
    ++tables[static_cast<std::size_t>(same - logs.begin())];
  }
  if (logs.empty()) {
    if (unsound) throw InputError(*unsound);
    if (!left_out_.empty()) {
      fail("", "no table of an all-reduce: " + left_out_.front(), "Run all_reduce_perf");
    }
    if (raw_.said.lines > 0) return {debug_lines_alone()};
    fail("", kNoRow,
         "Expected lines such as \"1048576 262144 float sum -1 40.00 26.21 39.32 0\". Redirect "
         "all of the program's output into the file, or give a CSV with the header "
         "size_bytes,time_us");
  }
  for (std::size_t i = 0; i < logs.size(); ++i) describe(logs[i], tables[i]);
  say_settings(logs);
  return logs;
}

/// Adds another table of the same job shape whose settings, as far as they are known, are the same.
void Assembly::pool(MeasuredLog& into, MeasuredLog log) const {
  if (const auto ratio = times_apart(log.points, into.points, 1); ratio && *ratio > kClearChange)
    warn_once(into,
              fmt::format("the tables at {} and {} have one job shape, but their times differ by "
                          "{:.0f} % (median over sizes) without a stated reason. Both are used "
                          "together. If their settings differ, give each in its own file, as "
                          "FILE@NODESxGPUS,NCCL_ALGO=Ring",
                          into.points.front().place, log.points.front().place, 100 * (*ratio - 1)));
  into.points.insert(into.points.end(), log.points.begin(), log.points.end());
  into.steps.insert(into.steps.end(), log.steps.begin(), log.steps.end());
  into.decisions.insert(into.decisions.end(), log.decisions.begin(), log.decisions.end());
  sort_decisions(into.decisions);
  for (std::string& warning : log.warnings) warn_once(into, std::move(warning));
}

/// Names the settings of logs that differ only in them.
void Assembly::say_settings(std::vector<MeasuredLog>& logs) const {
  for (MeasuredLog& log : logs) {
    const bool alone = std::ranges::none_of(logs, [&](const MeasuredLog& other) {
      return &other != &log && other.ranks == log.ranks && other.nodes == log.nodes;
    });
    if (alone) continue;
    const std::string settings = settings_text(log.settings);
    log.recognised.front() +=
        settings.empty() ? std::string(", without a setting of NCCL") : ", under " + settings;
  }
}

/// Users who run all programs get tables of other collectives in the same file.
bool Assembly::is_all_reduce(const RawRun& run) {
  const RawRow& first = run.rows.front();
  const int listed = listed_ranks(run);
  std::string other;
  if (!run.program.empty() && run.program.find("all_reduce") == std::string::npos) {
    other = "of " + in_quotes(run.program);
  } else if (first.redop == "none") {
    other = "without a reduction";
  } else if (first.root.value_or(-1) >= 0) {
    other = fmt::format("of a collective with root {}", *first.root);
  } else {
    const RankRange range = rank_range(run.rows);
    const bool sound = range.contradiction.empty() && range.factor_low > 0.01;
    const auto factor = [&] { return (range.factor_low + range.factor_high) / 2; };
    if (sound && range.factor_high < 0.999) {
      other = fmt::format(
          "with busbw = {:.3f} x algbw, as in all_gather, reduce_scatter and alltoall", factor());
    } else if (sound && listed > 2 && range.only() == 2) {
      other = fmt::format(
          "with busbw = {:.3f} x algbw on {} ranks, as in sendrecv, broadcast and reduce", factor(),
          listed);
    }
  }
  if (other.empty()) return true;
  left_out_.push_back(fmt::format("{}: a table {}", first.place, other));
  return false;
}

std::vector<RawRow> Assembly::rows_of_one_type(const RawRun& run) {
  const auto is_default = [](const RawRow& row) {
    return row.type == "float" && row.redop == "sum";
  };
  const auto found = std::find_if(run.rows.begin(), run.rows.end(), is_default);
  const RawRow& model = found == run.rows.end() ? run.rows.front() : *found;
  std::vector<RawRow> rows;
  for (const RawRow& row : run.rows) {
    if (row.type == model.type && row.redop == model.redop) rows.push_back(row);
  }
  if (rows.size() < run.rows.size()) {
    left_out_.push_back(fmt::format("{} rows of other types and operations than {} {}",
                                    run.rows.size() - rows.size(), model.type, model.redop));
  }
  return rows;
}

MeasuredLog Assembly::measured(const RawRun& run) {
  MeasuredLog log;
  log.source = raw_.file;
  log.backend = raw_.backend;
  log.timed_by = run.timed_by;
  log.steps = run.steps;
  log.nccl = raw_.nccl;
  log.settings = raw_.settings;
  log.settings.insert(log.settings.end(), run.settings.begin(), run.settings.end());
  const auto next = static_cast<std::size_t>(&run - raw_.runs.data()) + 1;
  take_debug_lines(
      log, run.first_decision,
      next < raw_.runs.size() ? raw_.runs[next].first_decision : raw_.said.decisions.size());
  if (run.host_times) {
    fail(run.rows.front().place, "the times are those of the host (-C 1), not of the collective",
         "Run all_reduce_perf without -C");
  }
  const std::vector<RawRow> rows = rows_of_one_type(run);
  for (const RawRow& row : rows) check_algbw(row, raw_.file);
  find_shape(log, raw_, run, rows, stated_);
  double wrong = 0;
  std::size_t coarse = 0;
  for (const RawRow& row : rows) {
    // nccl-tests prints it if minBytes is less than one element.
    if (row.size == 0) continue;
    wrong += row.wrong.value_or(0) + row.wrong_in_place.value_or(0);
    MeasuredPoint read = checked_point(row, log.ranks, raw_.file);
    read.wrong = row.wrong.value_or(0);
    read.wrong_in_place = row.wrong_in_place;
    if (read.time_us > 0) {
      log.points.push_back(std::move(read));
    } else {
      ++coarse;
    }
  }
  if (coarse > 0) {
    warn_once(
        log,
        fmt::format(
            "{} sizes are left out, because their bandwidth has too few digits to tell their time",
            coarse));
  }
  if (wrong > 0) {
    warn_once(log, fmt::format("nccl-tests found {} wrong results, so the machine or its NCCL is "
                               "faulty",
                               wrong));
  }
  for (const RawDevice& device : run.devices) {
    if (log.gpu.empty()) log.gpu = device.gpu;
    if (device.gpu != log.gpu && !device.gpu.empty()) {
      warn_once(log, fmt::format("several kinds of GPU: {} and {}", in_quotes(log.gpu),
                                 in_quotes(device.gpu)));
      break;
    }
  }
  return log;
}

void Assembly::take_debug_lines(MeasuredLog& log, std::size_t first, std::size_t end) const {
  const NcclWords& said = raw_.said;
  log.transport = transport_of(said);
  log.channels = said.channels;
  const auto at = [&](std::size_t index) {
    return said.decisions.begin() + static_cast<std::ptrdiff_t>(index);
  };
  log.decisions.assign(at(first), at(std::max(first, end)));
  sort_decisions(log.decisions);
  if (said.lines == 0) return;
  std::string line = fmt::format("NCCL's debug lines ({})", said.lines);
  if (!log.transport.empty()) line += ": over " + log.transport;
  if (said.gpudirect) line += " with GPUDirect RDMA";
  if (log.channels) line += fmt::format(", {} channels", *log.channels);
  if (!log.decisions.empty())
    line += fmt::format(", its choice for {} sizes", log.decisions.size());
  log.recognised.push_back(std::move(line));
}

MeasuredLog Assembly::debug_lines_alone() const {
  MeasuredLog log;
  log.source = raw_.file;
  log.nccl = raw_.nccl;
  log.settings = raw_.settings;
  take_debug_lines(log, 0, raw_.said.decisions.size());
  log.ranks = raw_.said.ranks.value_or(0);
  if (stated_) {
    log.ranks = stated_->ranks();
    log.nodes = stated_->nodes;
    log.gpus_per_node = stated_->gpus_per_node;
  } else if (raw_.said.nodes && log.ranks % *raw_.said.nodes == 0) {
    log.nodes = *raw_.said.nodes;
    log.gpus_per_node = log.ranks / *raw_.said.nodes;
  }
  log.warnings = raw_.warnings;
  log.warnings.push_back("it contains no table of times");
  return log;
}

void Assembly::describe(MeasuredLog& log, std::size_t tables) const {
  std::stable_sort(log.points.begin(), log.points.end(),
                   [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.size < b.size; });
  std::set<std::int64_t> sizes;
  bool in_place = false;
  for (const MeasuredPoint& point : log.points) {
    sizes.insert(point.size.count());
    in_place = in_place || point.in_place_us.has_value();
  }
  std::string line = fmt::format(
      "{}: {} {} from {} to {}", raw_.format, sizes.size(), sizes.size() == 1 ? "size" : "sizes",
      size_text(Bytes(*sizes.begin())), size_text(Bytes(*sizes.rbegin())));
  if (tables > 1) line += fmt::format(" in {} tables", tables);
  line += in_place ? ", out of place and in place" : ", out of place";
  if (log.nodes) {
    line += fmt::format(", {} {} x {} {}", *log.nodes, *log.nodes == 1 ? "node" : "nodes",
                        *log.gpus_per_node, *log.gpus_per_node == 1 ? "GPU" : "GPUs");
  } else if (log.ranks > 0) {
    line += fmt::format(", {} ranks", log.ranks);
  }
  if (!log.gpu.empty()) line += ", " + log.gpu;
  if (log.nccl) line += fmt::format(", {} {}", raw_.rccl ? "RCCL" : "NCCL", to_string(*log.nccl));
  log.recognised.insert(log.recognised.begin(), std::move(line));
  for (const std::string& more : raw_.recognised) log.recognised.push_back(more);
  for (const std::string& left : left_out_) log.recognised.push_back("left out: " + left);
  for (const std::string& warning : raw_.warnings) log.warnings.push_back(warning);
  for (const std::string& warning : unsound_) log.warnings.push_back(warning);
  if (log.timed_by == TimedBy::one_rank)
    log.warnings.push_back(
        "it lacks some ranks of each collective. Times include the wait for the others, so each "
        "is an upper bound, and the smallest of each size is used");
}

}  // namespace

std::vector<MeasuredLog> measured_logs(const RawLog& raw, std::optional<JobShape> stated) {
  return Assembly(raw, stated).run();
}

}  // namespace ddpsim
