#include "cluster_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>

#include "ddp_arguments.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"
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

/// Parses a list as NCCL_ALGO and NCCL_PROTO have it: "ring,tree", or "^ring" for all except ring.
template <typename Set, typename Enum, std::size_t kCount>
Set parse_list(std::string_view text, const std::string& option,
               const std::array<Enum, kCount>& every) {
  const bool except = text.starts_with('^');
  if (except) text.remove_prefix(1);
  Set set = except ? Set::all() : Set();
  for (const std::string_view word : split(text, ',')) {
    const std::optional<Enum> named = parse_word(word, every.front());
    if (!named) {
      std::vector<std::string> names;
      for (const Enum value : every) names.emplace_back(name_of(value));
      throw UsageError(option, not_one_of(word, names));
    }
    if (except) {
      set.remove(*named);
    } else {
      set.add(*named);
    }
  }
  if (set.empty()) throw UsageError(option, "the list leaves nothing to choose from");
  return set;
}

Bytes parse_buffer(const std::string& text) {
  constexpr Bytes kLeast{8 * 1024};
  constexpr Bytes kMost{1024 * 1'048'576};
  const Parsed<Bytes> parsed = parse_bytes(text);
  if (!parsed.value) throw UsageError("--buffer-size", parsed.problem);
  if (*parsed.value < kLeast || *parsed.value > kMost)
    throw UsageError(
        "--buffer-size",
        fmt::format("\"{}\" is out of range; expected 8KiB to 1GiB (NCCL takes 4MiB by default)",
                    text));
  return *parsed.value;
}

}  // namespace

void add_cluster_options(CLI::App& command, ClusterArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  command
      .add_option("CLUSTER", arguments.text,
                  "Name from `ddpsim list`, a file (cluster, NCCL topology, nvidia-smi matrix, "
                  "archive), or \"node:2 gpu:8xV100 …\"")
      ->required();
  common(command.add_option("--nodes", arguments.nodes,
                            "Use this many nodes (default: what CLUSTER says)"))
      ->check(CLI::Range(1, 1000000));
  common(command.add_option("--gpus-per-node", arguments.gpus_per_node,
                            "Use the first N GPUs of each node (default: all)"))
      ->check(CLI::Range(1, 1000));
}

void add_nccl_options(CLI::App& command, ClusterArguments& arguments) {
  const HelpGroup group(command, kNcclGroup);
  command
      .add_option(
          "--nccl", arguments.nccl,
          "Follow this NCCL version (default: the recorded one, else the one PyTorch ships)")
      ->type_name("VERSION");
  command
      .add_option("--algorithm", arguments.algorithm,
                  "Allow only these algorithms, or all but ^these: ring, tree, collnetdirect, "
                  "collnetchain, nvls, nvlstree (NCCL_ALGO)")
      ->type_name("NAME,…");
  command
      .add_option("--protocol", arguments.protocol,
                  "Allow only these protocols, or all but ^these: LL, LL128, Simple (NCCL_PROTO)")
      ->type_name("NAME,…");
  command
      .add_option("--min-channels", arguments.min_channels,
                  "Use at least this many channels for rings and trees (NCCL_MIN_NCHANNELS)")
      ->check(CLI::Range(1, kMostChannels));
  command
      .add_option("--max-channels", arguments.max_channels,
                  "Use at most this many channels for rings and trees (NCCL_MAX_NCHANNELS)")
      ->check(CLI::Range(1, kMostChannels));
  command
      .add_option("--buffer-size", arguments.buffer_size,
                  "Set the Simple protocol's buffer per channel and peer (NCCL_BUFFSIZE, default: "
                  "4MiB)")
      ->type_name("SIZE");
  command.add_flag("--no-nvls", arguments.no_nvls,
                   "Do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)");
  command.add_flag("--collnet", arguments.collnet,
                   "Reduce in the network's switches if the cluster has SHARP "
                   "(NCCL_COLLNET_ENABLE=1)");
}

ClusterRequest cluster_request(const ClusterArguments& arguments) {
  return {.text = arguments.text,
          .nodes = arguments.nodes,
          .gpus_per_node = arguments.gpus_per_node,
          .groups = {},
          .near = arguments.near};
}

std::optional<NcclVersion> stated_nccl(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<NcclVersion> nccl = parse_nccl_version(*text);
  if (!nccl)
    throw UsageError("--nccl", fmt::format("\"{}\" is not a version such as 2.27.3", *text));
  if (const std::string problem = never_released_nccl(*text); !problem.empty())
    throw UsageError("--nccl", problem);
  return nccl;
}

CollectiveTuning collective_tuning(const ClusterArguments& arguments) {
  CollectiveTuning tuning;
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
  return tuning;
}

}  // namespace ddpsim
