// The configuration that NCCL's example tuner plugin reads (NVIDIA/nccl, ext-tuner/example:
// README.md, plugin.c). That plugin sets one channel if no line matches or a line says -1, although
// its README promises defaults. So every line states its channels, and broadcasts, which DDP also
// runs, have lines as well.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"
#include "job_words.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr Bytes kLargest{4'294'967'295};  // "covers all sizes"

std::string_view plugin_word(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast ? "broadcast" : "allreduce";
}

std::string_view plugin_word(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return "tree";
    case Algorithm::ring:
      return "ring";
    case Algorithm::collnet_direct:
      return "collnet_direct";
    case Algorithm::collnet_chain:
      return "collnet_chain";
    case Algorithm::nvls:
      return "nvls";
    case Algorithm::nvls_tree:
      return "nvls_tree";
  }
  return "ring";
}

std::string_view plugin_word(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "ll";
    case Protocol::ll128:
      return "ll128";
    case Protocol::simple:
      return "simple";
  }
  return "simple";
}

std::string comment(const std::string& text) {
  constexpr std::size_t kMost = 200;
  std::string lines;
  const std::string plain = printable(text);
  for (std::size_t from = 0; from < plain.size(); from += kMost)
    lines += fmt::format("# {}\n", plain.substr(from, kMost));
  return lines;
}

}  // namespace

std::string tuner_csv(const CollectiveTuning& tuning, const ReportContext& context,
                      const std::string& made_by) {
  const Cluster& cluster = context.job.cluster();
  // The plugin reads 255 characters at once, so it would read the rest of a longer comment as a
  // setting.
  std::string csv = comment(
      fmt::format("What NCCL {} is to choose, for its example tuner plugin (ext-tuner/example): "
                  "NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=this file",
                  to_string(tuning.nccl)));
  csv += comment(subject(context)) + comment("Made by " + made_by);
  csv +=
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::broadcast})
    for (const ChoiceRange& range : choice_ranges(kind, cluster, tuning, kLargest))
      csv += fmt::format("{},{},{},{},{},{},{},{},-1,-1\n", plugin_word(kind), range.from.count(),
                         range.to.count(), plugin_word(range.choice.algorithm),
                         plugin_word(range.choice.protocol), range.choice.channels, cluster.nodes,
                         cluster.ranks());
  return csv;
}

}  // namespace ddpsim
