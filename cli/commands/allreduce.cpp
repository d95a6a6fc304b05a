#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cluster_arguments.hpp"
#include "commands.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/archive_calibration.hpp"
#include "ddpsim/jobs/collectives.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "measured_all_reduces.hpp"
#include "number_between.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

constexpr int kMostRows = 10'000;

struct AllReduceArguments {
  ClusterArguments cluster;
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::string begin = "8";
  std::string end = "1G";
  std::optional<double> factor;
  std::optional<std::string> step;
  std::optional<std::string> torch;
  std::optional<std::string> measured;  ///< a log
  bool side_by_side = false;
  OutputArguments output;
};

/// Parses sizes as nccl-tests does ("8" in bytes, "64K", "1M", "1G" in binary units), and also "25MiB" and "1GB".
Bytes parse_size(const std::string& option, const std::string& text) {
  constexpr double kMost = 1LL << 50;
  std::string_view suffix = text;
  std::optional<double> number = take_number<double>(suffix);
  double unit = 0;
  if (suffix.empty()) unit = 1;
  if (suffix == "K" || suffix == "k") unit = 1 << 10;
  if (suffix == "M" || suffix == "m") unit = 1 << 20;
  if (suffix == "G" || suffix == "g") unit = 1 << 30;
  if (!number || unit == 0) {
    const Parsed<Bytes> parsed = parse_bytes(text);
    if (!parsed.value)
      throw UsageError(
          option,
          fmt::format("\"{}\" is not a size such as 8, 64K, 25M or 1G (binary, as in nccl-tests)",
                      text));
    number = static_cast<double>(parsed.value->count());
    unit = 1;
  }
  const double bytes = *number * unit;
  if (!(bytes >= 0 && bytes <= kMost))
    throw UsageError(option, fmt::format("\"{}\" is out of range; expected 0 to 1 PiB", text));
  return Bytes(static_cast<std::int64_t>(bytes));
}

/// Returns the sizes, each once. They are multiples of an fp32 element as in all_reduce_perf, or of 16 bytes per rank as in
/// all_gather_perf and reduce_scatter_perf.
std::vector<Bytes> sizes_of(const AllReduceArguments& arguments, int ranks) {
  constexpr std::int64_t kFp32 = 4;
  constexpr std::int64_t kAligned = 16;
  const bool in_parts = ring_phases(arguments.collective) == 1;
  const std::int64_t unit = in_parts ? kAligned * ranks : kFp32;
  const Bytes first = parse_size("-b", arguments.begin);
  const Bytes last = parse_size("-e", arguments.end);
  if (last < first)
    throw UsageError(fmt::format("-e {} is less than -b {}", arguments.end, arguments.begin));
  std::optional<Bytes> step;
  if (arguments.step) step = parse_size("-i", *arguments.step);
  if (step && step->count() < kFp32) throw UsageError("-i", "the step must be at least 4 bytes");
  const double factor = arguments.factor.value_or(2);
  std::vector<Bytes> sizes;
  double size = static_cast<double>(first.count());
  while (size <= static_cast<double>(last.count())) {
    const Bytes whole(static_cast<std::int64_t>(size) / unit * unit);
    const bool nothing = in_parts && whole == Bytes();
    if (!nothing && (sizes.empty() || sizes.back() < whole)) sizes.push_back(whole);
    if (sizes.size() > kMostRows)
      throw UsageError("", fmt::format("these are more than {} sizes", kMostRows),
                       "Take a larger -i or -f");
    if (step) {
      size += static_cast<double>(step->count());
    } else {
      size = std::max(size * factor, size + kFp32);
    }
  }
  if (sizes.empty())
    throw UsageError(fmt::format("-e {}", arguments.end),
                     fmt::format("{} {} of 16 bytes each need at least {} bytes", ranks,
                                 ranks == 1 ? "part" : "parts", unit));
  return sizes;
}

/// Warns about what is not known of collectives other than all-reduces.
std::vector<std::string> collective_warnings(CollectiveKind kind, const Cluster& cluster,
                                             NcclVersion nccl) {
  if (kind == CollectiveKind::all_reduce || cluster.ranks() == 1) return {};
  std::vector<std::string> warnings;
  const bool in_parts = ring_phases(kind) == 1;
  if (in_parts && cluster.nodes > 1 && cluster.gpus_per_node == 1 && nccl >= NcclVersion{2, 23, 0})
    warnings.push_back(
        fmt::format("from 2.23 on, NCCL may use PAT for small {}s of one GPU per node; they are "
                    "timed as a ring",
                    name_of(kind)));
  const bool several_nics = cluster.network.nics_per_node > cluster.gpus_per_node;
  if (kind == CollectiveKind::send_recv && cluster.nodes > 1 && several_nics &&
      nccl >= NcclVersion{2, 18, 0})
    warnings.emplace_back(
        "each pair of ranks is timed with one NIC, but NCCL 2.18 and later use every NIC of the "
        "GPU");
  return warnings;
}

/// Warns about options that NCCL ignores for this collective, because it has only rings for it.
std::vector<std::string> unheeded(const AllReduceTable& table, const CollectiveTuning& tuning) {
  if (table.collective == CollectiveKind::all_reduce || table.ranks == 1) return {};
  const auto none = [&](const char* option) {
    return fmt::format(
        "{} has no effect on some of these {}s, because NCCL does not offer that choice for them",
        option, name_of(table.collective));
  };
  std::vector<std::string> warnings;
  const auto& rows = table.rows;
  if (tuning.algorithms && !std::ranges::all_of(rows, [&](const AllReduceRow& row) {
        return tuning.algorithms->has(row.choice.algorithm);
      }))
    warnings.push_back(none("--algorithm"));
  if (tuning.protocols && !std::ranges::all_of(rows, [&](const AllReduceRow& row) {
        return tuning.protocols->has(row.choice.protocol);
      }))
    warnings.push_back(none("--protocol"));
  return warnings;
}

/// Throws UsageError for options that exclude each other, or that this NCCL does not have.
void require_fitting_options(const AllReduceArguments& arguments, NcclVersion nccl) {
  if (arguments.collective == CollectiveKind::send_recv && nccl < NcclVersion{2, 7, 0})
    throw UsageError(
        "--collective send-recv",
        fmt::format("NCCL {} has no ncclSend, which begins with 2.7", to_string(nccl)));
  if (arguments.measured && !arguments.output.plot && arguments.output.reports.empty())
    throw UsageError("--measured", "measured points appear only in a plot",
                     "Add --plot FILE.svg or --report FILE.html");
  if (arguments.measured && arguments.collective != CollectiveKind::all_reduce)
    throw UsageError("--measured", "only logs of all_reduce_perf can be read",
                     "Leave out --collective");
  if (arguments.side_by_side && arguments.collective != CollectiveKind::all_reduce)
    throw UsageError("--side-by-side", "this option compares ways to all-reduce",
                     "Leave out --collective");
  if (arguments.side_by_side && arguments.cluster.algorithm)
    throw UsageError("--side-by-side", "this option already times both ring and tree",
                     "Leave out --algorithm");
}

Warnings allreduce_warnings(const AllReduceArguments& arguments, const Cluster& cluster,
                            const CollectiveTuning& tuning, const std::vector<Bytes>& sizes,
                            const AllReduceTable& table) {
  Warnings warnings;
  if (cluster.ranks() == 1)
    warnings.add(
        "one GPU has nothing to reduce, so every time is zero; use --nodes or more GPUs per node");
  for (std::string& warning : decisive_warnings(cluster, Backend::nccl))
    warnings.overturn(std::move(warning));
  warnings.add(cluster_warnings(cluster, tuning, sizes));
  warnings.add(archive_warnings(arguments.cluster.text, cluster));
  warnings.add(nccl_warnings(tuning));
  warnings.add(collective_warnings(arguments.collective, cluster, tuning.nccl));
  warnings.add(unheeded(table, tuning));
  return warnings;
}

int run(const AllReduceArguments& arguments, const TypedLine& typed) {
  const TorchInForce torch = torch_in_force(stated_torch(arguments.torch), "");
  CollectiveTuning tuning = collective_tuning(arguments.cluster);
  tuning.nccl = stated_nccl(arguments.cluster.nccl).value_or(bundled_nccl(torch.version));
  require_of_nccl(tuning);
  const Cluster cluster = load_calibrated_cluster(cluster_request(arguments.cluster));
  // The NCCL version of a log is more reliable than that of an assumed PyTorch.
  const bool named = arguments.cluster.nccl || torch.known;
  if (cluster.calibration && !named)
    tuning.nccl = nearest_nccl(*cluster.calibration, cluster.nodes, cluster.gpus_per_node)
                      .value_or(tuning.nccl);
  require_choice(cluster, tuning);
  require_fitting_options(arguments, tuning.nccl);
  const std::vector<Bytes> sizes = sizes_of(arguments, cluster.ranks());
  AllReduceTable table = all_reduce_table(cluster, tuning, sizes, arguments.collective);

  if (arguments.side_by_side) lay_side_by_side(table, cluster, tuning);
  std::optional<MeasuredAllReduces> measured;
  if (arguments.measured) measured = read_measured_all_reduces(*arguments.measured, table);

  Warnings warnings = allreduce_warnings(arguments, cluster, tuning, sizes, table);
  const AllReduceReport report{.table = std::move(table),
                               .cluster = cluster,
                               .torch = torch.version,
                               .nccl = tuning.nccl,
                               .warnings = std::move(warnings)};

  deliver({.json = [&] { return allreduce_json(report); },
           .text = [&](const TerminalStyle& style) { return allreduce_text(report, style); },
           .csv = [&] { return allreduce_csv(report.table); },
           .plot = [&] { return allreduce_svg(report, measured); },
           .command = typed.for_command("allreduce"),
           .documents =
               [&] {
                 std::vector<ReportDocument> all = {{"allreduce", allreduce_json(report)}};
                 if (measured)
                   all.push_back({"measured_all_reduces", measured_all_reduces_json(*measured)});
                 return all;
               }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_allreduce(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "allreduce", "Predict the nccl-tests table (all_reduce_perf) of a cluster");
  const auto arguments = std::make_shared<AllReduceArguments>();
  const auto size = [&](const char* name, auto& into, const std::string& help) {
    return common(command->add_option(name, into, help))->type_name("SIZE");
  };
  size("-b,--begin", arguments->begin,
       fmt::format("Begin with this size, such as 8, 64K, 25M or 1G (default: {})",
                   arguments->begin));
  size("-e,--end", arguments->end, fmt::format("End at this size (default: {})", arguments->end));
  CLI::Option* factor =
      common(command->add_option("-f,--factor", arguments->factor,
                                 "Make each size this many times the last (default: 2)"))
          ->check(number_between(1.001, 1e6));
  size("-i,--step", arguments->step, "Make each size this much more than the last")
      ->excludes(factor);
  std::vector<std::pair<std::string, CollectiveKind>> kinds;
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::broadcast, CollectiveKind::reduce, CollectiveKind::send_recv})
    kinds.emplace_back(name_of(kind), kind);
  common(add_word_option(*command, "--collective", arguments->collective, std::move(kinds),
                         "Time this collective; its *_perf program defines the sizes (default: "
                         "all-reduce)"));
  command->add_flag("--side-by-side", arguments->side_by_side,
                    "Also time a ring, a tree, and a reduce followed by a broadcast");
  add_nccl_options(*command, arguments->cluster);
  add_cluster_options(*command, arguments->cluster);
  {
    const HelpGroup nccl(*command, kNcclGroup);
    common(command->add_option(
               "--torch", arguments->torch,
               fmt::format("Take the NCCL that this PyTorch version ships (default: {})",
                           to_string(kAssumedTorch))))
        ->type_name("VERSION");
  }
  add_output_options(*command, arguments->output, false);
  add_plot_option(*command, arguments->output);
  add_report_option(*command, arguments->output);
  common(
      command->add_option("--measured", arguments->measured,
                          "With --plot or --report, also draw the points of this all_reduce_perf "
                          "log"))
      ->type_name("LOG[@NxG]");
  add_example(*command, "ddpsim allreduce dgxa100@4 -b 1M -e 64M -f 4");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
