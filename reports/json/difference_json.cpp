#include <fmt/format.h>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/difference_report.hpp"

namespace ddpsim {
namespace {

std::string_view word_of(Bound bound) {
  return bound == Bound::upper ? "upper" : bound == Bound::lower ? "lower" : "";
}

void write_side(JsonWriter& json, std::string_view key, const DifferenceSide& side,
                const StepBreakdown& breakdown, bool timed, std::optional<Duration> all_reduce) {
  json.key(key).begin_object();
  json.key("source").string(side.source);
  json.key("kind").string(side.kind);
  json.key("step_us");
  side.all_reduce || !timed ? json.null() : json.time(breakdown.step);
  json.key("samples_per_s_per_gpu");
  json.ratio(side.samples_per_step_per_gpu && !side.all_reduce && timed
                 ? std::optional(*side.samples_per_step_per_gpu / breakdown.step.seconds())
                 : std::nullopt);
  json.key("steps").count(breakdown.steps);
  json.key("efficiency_percent").ratio(efficiency_percent(breakdown));
  if (side.all_reduce) {
    json.key("all_reduce_bytes").integer(side.all_reduce->count());
    json.key("all_reduce_us").time(all_reduce.value_or(breakdown.step));
  }
  if (breakdown.parts_known) {
    json.key("kernels").begin_object(JsonWriter::Layout::line);
    json.key("forward_us").time(breakdown.kernels.forward);
    json.key("backward_us").time(breakdown.kernels.backward);
    json.key("optimizer_us").time(breakdown.kernels.optimizer);
    json.end_object();
  }
  json.end_object();
}

void write_sizes(JsonWriter& json, const AllReduceChanges& changes) {
  json.begin_array();
  for (const SizeChange& one : changes.sizes) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("bytes").integer(one.size.count());
    json.key("before_us").time(one.before);
    json.key("after_us").time(one.after);
    json.key("before_busbw_gbps").ratio(known_busbw(one.size, one.before, changes.ranks_before));
    json.key("after_busbw_gbps").ratio(known_busbw(one.size, one.after, changes.ranks_after));
    json.key("change_percent").ratio(100 * (one.growth - 1));
    json.key("clear").boolean(one.clear);
    json.end_object();
  }
  json.end_array();
}

void write_row(JsonWriter& json, const DifferenceRow& row, const StepBreakdown& after) {
  json.begin_object(JsonWriter::Layout::line);
  json.key("cause").string(name_of(row.part));
  json.key("us").time(row.change);
  json.key("low_us").time(row.low);
  json.key("high_us").time(row.high);
  json.key("expected_us").time(row.expected);
  json.key("bound").string_or_null(word_of(row.bound));
  json.key("before_us").time(row.before);
  json.key("after_us").time(row.after);
  json.key("points").ratio(row.points);
  if (row.part == part_of(LossCause::slowest_gpu) && after.waited_for)
    json.key("rank").integer(*after.waited_for);
  json.end_object();
}

void write_late(JsonWriter& json, const LateRanks& late) {
  json.begin_object();
  json.key("pattern").string(name_of(late.pattern));
  json.key("late").begin_array(JsonWriter::Layout::line);
  for (const int rank : late.late) json.integer(rank);
  json.end_array();
  json.key("steps").count(late.steps);
  json.key("collectives").count(late.collectives);
  json.key("all_ranks").boolean(late.complete);
  json.key("transfer_us").time(late.transfer);
  json.key("ranks").begin_array();
  for (const LateRank& rank : late.ranks) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("rank").integer(rank.rank);
    json.key("times_last").count(rank.times_last);
    json.key("steps_last").count(rank.steps_last);
    json.key("caused_us").time(rank.caused);
    json.key("waited_us").time(rank.waited);
    json.key("longer_in").string_or_null(rank.work ? name_of(*rank.work) : "");
    json.key("phase").string_or_null(rank.phase);
    json.key("longer_us").time(rank.longer);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_pairs(JsonWriter& json, const PairMatrix& matrix) {
  const PairVerdict verdict = judge_pairs(matrix);
  json.begin_object();
  json.key("source").string(matrix.source);
  json.key("fastest_gbps").ratio(verdict.fastest_gbps);
  json.key("slow_nodes").strings(verdict.slow_nodes);
  const auto list = [&](std::string_view key, const std::vector<PairBandwidth>& pairs) {
    json.key(key).begin_array();
    for (const PairBandwidth& pair : pairs) {
      json.begin_object(JsonWriter::Layout::line);
      json.key("nodes").strings({pair.a, pair.b});
      json.key("busbw_gbps").ratio(pair.busbw_gbps);
      json.end_object();
    }
    json.end_array();
  };
  list("slow_pairs", verdict.slow);
  list("slow_paths", verdict.slow_paths);
  list("undecided", verdict.undecided);
  const PairGroups& groups = verdict.groups;
  json.key("groups").begin_array();
  for (const std::vector<std::string>& names : groups.groups) json.strings(names);
  json.end_array();
  const auto count = [&](std::string_view key, std::size_t pairs, std::size_t slow, double gbps) {
    json.key(key);
    if (!groups.found()) return json.null();
    json.begin_object(JsonWriter::Layout::line);
    json.key("pairs").count(pairs);
    json.key("slow").count(slow);
    json.key("median_gbps").ratio(gbps);
    json.end_object();
  };
  count("across_groups", groups.across, groups.slow_across, groups.across_gbps);
  count("within_groups", groups.within, groups.slow_within, groups.within_gbps);
  json.end_object();
}

void write_causes(JsonWriter& json, const std::vector<SlowdownCause>& causes) {
  json.key("causes").begin_array();
  for (const SlowdownCause& cause : causes) {
    json.begin_object();
    json.key("class").string(name_of(cause.what));
    json.key("evidence").strings(cause.evidence);
    json.key("decide_by").string(cause.decide_by);
    json.end_object();
  }
  json.end_array();
}

void write_excluded(JsonWriter& json, const std::vector<ExcludedCause>& excluded) {
  json.key("excluded").begin_array();
  for (const ExcludedCause& one : excluded) {
    json.begin_object();
    json.key("class").string(name_of(one.what));
    json.key("says").string(one.says);
    json.end_object();
  }
  json.end_array();
}

void write_findings(JsonWriter& json, const std::vector<Finding>& findings) {
  json.key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object();
    json.key("class").string(name_of(finding.what));
    json.key("says").string(finding.says);
    json.key("place").string(finding.place);
    json.end_object();
  }
  json.end_array();
}

void write_kernel_kinds(JsonWriter& json, const std::optional<KernelComparison>& kernels) {
  json.key("kernel_kinds").begin_array();
  if (kernels)
    for (const KernelComparison::Row& row : kernels->rows) {
      json.begin_object(JsonWriter::Layout::line);
      json.key("kind").string(name_of(row.kind));
      json.key("before_us").time(row.before.time);
      json.key("after_us").time(row.after.time);
      json.key("before_count").ratio(row.before.count);
      json.key("after_count").ratio(row.after.count);
      json.end_object();
    }
  json.end_array();
}

void write_collectives(JsonWriter& json, const std::vector<RankCollectiveLine>& collectives) {
  json.key("collectives").begin_array();
  for (const RankCollectiveLine& one : collectives) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("operation").string(one.operation);
    json.key("bytes");
    one.bytes ? json.integer(one.bytes->count()) : json.null();
    json.key("transfer_us").time(one.transfer);
    json.key("last_rank").integer(one.last_rank);
    json.key("waits").begin_array(JsonWriter::Layout::line);
    for (const auto& [rank, wait] : one.waits) {
      json.begin_object(JsonWriter::Layout::line);
      json.key("rank").integer(rank);
      json.key("wait_us").time(wait);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

void write_limit(JsonWriter& json, const DifferenceReport::Limit& limit) {
  json.key("limit").begin_object(JsonWriter::Layout::line);
  json.key("max_slowdown_percent").ratio(limit.percent);
  json.key("exceeded").boolean(limit.exceeded.has_value());
  const bool has_row = limit.exceeded && limit.exceeded->row;
  json.key("row").string_or_null(has_row ? name_of(limit.exceeded->row->part) : "");
  json.end_object();
}

}  // namespace

std::string difference_json(const DifferenceReport& report) {
  const StepDifference& difference = report.difference;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.diff/1");
  const auto measured = [&](Duration SizeChange::*time) -> std::optional<Duration> {
    if (!report.all_reduces) return std::nullopt;
    return report.all_reduces->one().*time;
  };
  write_side(json, "before", report.before, difference.before, report.timed,
             measured(&SizeChange::before));
  write_side(json, "after", report.after, difference.after, report.timed,
             measured(&SizeChange::after));
  const auto where_timed = [&](auto value) {
    return report.timed ? std::optional(value) : std::nullopt;
  };
  json.key("change_us").time(where_timed(difference.change));
  json.key("change_percent")
      .ratio(report.timed ? std::optional(difference.percent()) : std::nullopt);
  json.key("noise_us").time(where_timed(difference.noise));
  json.key("beyond_noise");
  report.timed ? json.boolean(difference.beyond_noise()) : json.null();
  json.key("expected_of").string_or_null(report.expected_of);
  json.key("expected_change_us").time(report.expected_change);
  if (report.all_reduces) {
    json.key("sizes");
    write_sizes(json, *report.all_reduces);
  }
  json.key("rows").begin_array();
  for (const DifferenceRow& row : difference.rows) write_row(json, row, difference.after);
  json.end_array();
  write_causes(json, report.causes);
  json.key("compared").strings(report.compared);
  write_excluded(json, report.excluded);
  write_findings(json, report.findings);
  write_kernel_kinds(json, report.kernels);
  json.key("late_ranks");
  report.late ? write_late(json, *report.late) : json.null();
  write_collectives(json, report.collectives);
  json.key("pairs");
  report.pairs ? write_pairs(json, *report.pairs) : json.null();
  if (report.limit) write_limit(json, *report.limit);
  json.key("missing").strings(difference.missing);
  json.key("warnings").strings(report.warnings);
  json.end_object();
  return std::move(json).finish();
}

std::string difference_csv(const DifferenceReport& report) {
  std::string csv = "cause,before_us,after_us,us,low_us,high_us,expected_us,bound,points\n";
  for (const DifferenceRow& row : report.difference.rows)
    csv += fmt::format(
        "{},{},{},{},{},{},{},{},{}\n", name_of(row.part), microseconds_token(row.before),
        microseconds_token(row.after), microseconds_token(row.change), microseconds_token(row.low),
        microseconds_token(row.high), row.expected ? microseconds_token(*row.expected) : "",
        word_of(row.bound), ratio_token(row.points));
  return csv;
}

}  // namespace ddpsim
