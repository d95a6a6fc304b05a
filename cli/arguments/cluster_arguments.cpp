#include "cluster_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "ddp_arguments.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

constexpr std::array kEveryAlgorithm{Algorithm::ring,           Algorithm::tree,
                                     Algorithm::collnet_direct, Algorithm::collnet_chain,
                                     Algorithm::nvls,           Algorithm::nvls_tree};
constexpr std::array kEveryProtocol{Protocol::ll, Protocol::ll128, Protocol::simple};

std::optional<Algorithm> parse_word(std::string_view word, Algorithm /*of*/) {
  return parse_algorithm(word);
}
std::optional<Protocol> parse_word(std::string_view word, Protocol /*of*/) {
  return parse_protocol(word);
}

/// "ring,tree", or "^ring" for all but those, as NCCL_ALGO and NCCL_PROTO are written.
template <typename Set, typename Enum, std::size_t kCount>
Set parse_list(std::string_view text, const std::string& option,
               const std::array<Enum, kCount>& every) {
  const bool except = text.starts_with('^');
  if (except) text.remove_prefix(1);
  Set set = except ? Set::all() : Set();
  for (const std::string_view word : comma_list(text)) {
    const std::optional<Enum> named = parse_word(word, every.front());
    if (!named) {
      std::vector<std::string> names;
      for (const Enum value : every) names.emplace_back(name_of(value));
      throw UsageError(option + ": " + not_one_of(word, names));
    }
    if (except) {
      set.remove(*named);
    } else {
      set.add(*named);
    }
  }
  if (set.empty()) throw UsageError(option + ": nothing is left to choose from");
  return set;
}

Bytes parse_buffer(const std::string& text) {
  constexpr Bytes kLeast{8 * 1024};
  constexpr Bytes kMost{1024 * 1'048'576};
  const Parsed<Bytes> parsed = parse_bytes(text);
  if (!parsed.value) throw UsageError("--buffer-size: " + parsed.problem);
  if (*parsed.value < kLeast || *parsed.value > kMost)
    throw UsageError(
        fmt::format("--buffer-size: \"{}\" is out of range; expected 8KiB to 1GiB (NCCL "
                    "takes 4MiB by default)",
                    text));
  return *parsed.value;
}

/// Sizes outside those of the nearest log, one line each way.
std::vector<std::string> size_warnings(const Cluster& cluster, const std::vector<Bytes>& sizes) {
  std::vector<std::string> warnings;
  if (sizes.empty()) return warnings;
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const auto warn = [&](Bytes size, bool above) {
    const CalibratedShape* log =
        nearest_log(*cluster.calibration, cluster.nodes, cluster.gpus_per_node, size);
    if (log == nullptr || (above ? size <= log->largest : size >= log->smallest)) return;
    warnings.push_back(fmt::format(
        "sizes {} to {} lie outside what the nearest log measured ({}, {}x{}: {} to {})",
        above ? "up" : "down", size_text(size), log->source, log->nodes, log->gpus_per_node,
        size_text(log->smallest), size_text(log->largest)));
  };
  warn(*least, false);
  warn(*most, true);
  return warnings;
}

}  // namespace

void add_cluster_options(CLI::App& command, ClusterArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  command
      .add_option("CLUSTER", arguments.text,
                  "bundled name, one line (\"node:2 gpu:8xV100 …\"), cluster file, NCCL topology "
                  "XML, nvidia-smi topo -m matrix or archive of scripts/collect.sh; words beside a "
                  "file complete it: "
                  "\"matrix.txt gpu:A100 node:4 nic:200Gbps:ib\"")
      ->required();
  command.add_option("--nodes", arguments.nodes, "resize the cluster")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--gpus-per-node", arguments.gpus_per_node, "use GPUs 0..G-1 of each node")
      ->check(CLI::Range(1, 1000));
}

void add_nccl_options(CLI::App& command, ClusterArguments& arguments) {
  const HelpGroup group(command, kNcclGroup);
  command.add_option("--nccl", arguments.nccl,
                     "NCCL version (default: the recorded one, else the one PyTorch ships)");
  command.add_option(
      "--algorithm", arguments.algorithm,
      "allow only these, or all but ^these: ring, tree, collnetdirect, collnetchain, "
      "nvls, nvlstree (NCCL_ALGO)");
  command.add_option("--protocol", arguments.protocol,
                     "allow only these, or all but ^these: LL, LL128, Simple (NCCL_PROTO)");
  command
      .add_option("--min-channels", arguments.min_channels,
                  "at least so many channels for rings and trees (NCCL_MIN_NCHANNELS)")
      ->check(CLI::Range(1, kMostChannels));
  command
      .add_option("--max-channels", arguments.max_channels,
                  "at most so many channels for rings and trees (NCCL_MAX_NCHANNELS)")
      ->check(CLI::Range(1, kMostChannels));
  command.add_option("--buffer-size", arguments.buffer_size,
                     "buffer per channel and peer of the Simple protocol: 4MiB (NCCL_BUFFSIZE)");
  command.add_flag("--no-nvls", arguments.no_nvls,
                   "do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)");
  command.add_flag("--collnet", arguments.collnet,
                   "reduce in the network's switches where the cluster has SHARP "
                   "(NCCL_COLLNET_ENABLE=1)");
}

ClusterRequest cluster_request(const ClusterArguments& arguments) {
  return {.text = arguments.text,
          .nodes = arguments.nodes,
          .gpus_per_node = arguments.gpus_per_node,
          .groups = {},
          .near = arguments.near};
}

void require_version(const char* option, bool used, const CollectiveTuning& tuning,
                     NcclVersion since) {
  if (used && tuning.nccl < since)
    throw UsageError(fmt::format("{}: NCCL {} does not have it yet; it came with {}", option,
                                 to_string(tuning.nccl), to_string(since)));
}

std::optional<NcclVersion> stated_nccl(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<NcclVersion> nccl = parse_nccl_version(*text);
  if (!nccl) throw UsageError(fmt::format("--nccl: \"{}\" is not a version such as 2.27.3", *text));
  if (const std::string problem = never_released_nccl(*text); !problem.empty())
    throw UsageError(fmt::format("--nccl: {}", problem));
  return nccl;
}

CollectiveTuning collective_tuning(const ClusterArguments& arguments, NcclVersion usual) {
  CollectiveTuning tuning;
  tuning.nccl = stated_nccl(arguments.nccl).value_or(usual);
  if (arguments.algorithm)
    tuning.algorithms =
        parse_list<AlgorithmSet>(*arguments.algorithm, "--algorithm", kEveryAlgorithm);
  if (arguments.protocol)
    tuning.protocols = parse_list<ProtocolSet>(*arguments.protocol, "--protocol", kEveryProtocol);
  tuning.min_channels = arguments.min_channels;
  tuning.max_channels = arguments.max_channels;
  if (tuning.min_channels && tuning.max_channels && *tuning.min_channels > *tuning.max_channels)
    throw UsageError(fmt::format("--min-channels {} is more than --max-channels {}",
                                 *tuning.min_channels, *tuning.max_channels));
  if (arguments.buffer_size) tuning.buffer = parse_buffer(*arguments.buffer_size);
  tuning.nvls = !arguments.no_nvls;
  tuning.collnet = arguments.collnet;
  require_version("--no-nvls", arguments.no_nvls, tuning, {2, 17, 0});
  require_version("--collnet", arguments.collnet, tuning, {2, 6, 0});
  return tuning;
}

void require_choice(const ClusterArguments& arguments, const Cluster& cluster,
                    const CollectiveTuning& tuning) {
  if (!arguments.algorithm && !arguments.protocol) return;
  if (can_select_algorithm(cluster, tuning)) return;
  throw UsageError(fmt::format(
      "NCCL {} has no way to all-reduce on {} with{}{}; in-switch algorithms need Simple, nvls an "
      "NVSwitch of sm_90 or later, nvlstree several such nodes, collnet --collnet and SHARP",
      to_string(tuning.nccl), cluster.name,
      arguments.algorithm ? " --algorithm " + *arguments.algorithm : "",
      arguments.protocol ? " --protocol " + *arguments.protocol : ""));
}

std::vector<std::string> cluster_warnings(const Cluster& cluster, const CollectiveTuning& tuning,
                                          const std::vector<Bytes>& sizes) {
  std::vector<std::string> warnings;
  for (std::string assumed :
       {assumed_of_peers(cluster), assumed_of_roots(cluster), assumed_of_amd(cluster)})
    if (!assumed.empty()) warnings.push_back(std::move(assumed));
  if (std::string assumed = assumed_of_gpudirect(cluster); !assumed.empty())
    warnings.push_back(std::move(assumed));
  if (!cluster.calibration) {
    if (!cluster.verified)
      warnings.push_back(fmt::format(
          "cluster \"{}\" is not calibrated: link speeds come from data sheets", cluster.name));
    if (const std::string_view assumed = assumed_of_connections(cluster); !assumed.empty())
      warnings.emplace_back(assumed);
    return warnings;
  }
  const Calibration& calibration = *cluster.calibration;
  const std::string beyond = beyond_calibration(calibration, cluster.nodes, cluster.gpus_per_node);
  if (!beyond.empty()) warnings.push_back(beyond + "; treat the result as a guess");
  for (const CalibratedShape& log : calibration.shapes)
    if (!log.fault.empty())
      warnings.push_back(
          fmt::format("the calibration rests on {}, fitted although {} (--keep-unhealthy)",
                      log.source, log.fault));
  if (cluster.ranks() > 1)
    for (std::string& warning : size_warnings(cluster, sizes))
      warnings.push_back(std::move(warning));
  const auto nccl = nearest_nccl(calibration, cluster.nodes, cluster.gpus_per_node);
  if (nccl && (nccl->major != tuning.nccl.major || nccl->minor != tuning.nccl.minor))
    warnings.push_back(
        fmt::format("calibrated with NCCL {}, predicted for {}: other versions choose other "
                    "algorithms (--nccl)",
                    to_string(*nccl), to_string(tuning.nccl)));
  return warnings;
}

std::vector<std::string> decisive_warnings(const Cluster& cluster, Backend backend) {
  std::vector<std::string> warnings;
  if (backend == Backend::gloo || !cluster.calibration) warnings = implausible_figures(cluster);
  if (const std::string_view assumed = assumed_of_leaves(cluster);
      backend == Backend::nccl && !assumed.empty())
    warnings.emplace_back(assumed);
  return warnings;
}

std::vector<std::string> nccl_warnings(const CollectiveTuning& tuning) {
  const auto release = [](NcclVersion version) { return std::pair(version.major, version.minor); };
  if (release(tuning.nccl) > release(kNewestNccl))
    return {fmt::format("NCCL {} is newer than the rules known here ({}.{}); those are used",
                        to_string(tuning.nccl), kNewestNccl.major, kNewestNccl.minor)};
  // Before 2.5 NCCL had thresholds instead, which are known.
  if (tuning.nccl >= NcclVersion{2, 7, 0} || tuning.nccl < NcclVersion{2, 5, 0}) return {};
  return {fmt::format("NCCL {} is older than the oldest tuning table here (2.7.8)",
                      to_string(tuning.nccl))};
}

}  // namespace ddpsim
