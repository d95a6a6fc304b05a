#include "backend_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "help_group.hpp"
#include "key_values.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

constexpr int kMostThreads = 64;

Bandwidth read_rate(const std::string& key, const std::string& text) {
  const Parsed<Bandwidth> parsed = parse_bandwidth(text);
  if (!parsed.value) throw UsageError(fmt::format("--gloo: {}: {}", key, parsed.problem));
  if (!(parsed.value->bytes_per_second() > 0))
    throw UsageError(fmt::format("--gloo: {}: must be more than zero", key));
  return *parsed.value;
}

Bytes read_size(const std::string& key, const std::string& text) {
  const Parsed<Bytes> parsed = parse_bytes(text);
  if (!parsed.value) throw UsageError(fmt::format("--gloo: {}: {}", key, parsed.problem));
  return *parsed.value;
}

Duration read_time(const std::string& key, const std::string& text) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) throw UsageError(fmt::format("--gloo: {}: {}", key, parsed.problem));
  if (*parsed.value < Duration() || *parsed.value > Duration::seconds(1))
    throw UsageError(fmt::format("--gloo: {}: expected 0 to 1 s", key));
  return *parsed.value;
}

int read_threads(const std::string& text) {
  const auto threads = parse_number<int>(text);
  if (!threads || *threads < 1 || *threads > kMostThreads)
    throw UsageError(fmt::format("--gloo: threads: expected 1 to {}", kMostThreads));
  return *threads;
}

double read_fill(const std::string& text) {
  const auto fill = parse_number<double>(text);
  if (!fill || !(*fill >= 1 && *fill <= kMostThreads))
    throw UsageError(fmt::format("--gloo: fill: expected a number from 1 to {}", kMostThreads));
  return *fill;
}

bool read_tensors(const std::string& text) {
  if (text != "host" && text != "device")
    throw UsageError("--gloo: tensors: " +
                     not_one_of(text, std::vector<std::string>{"host", "device"}));
  return text == "host";
}

}  // namespace

void add_backend_options(CLI::App& command, BackendArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  add_word_option<Backend>(
      command, "--backend", arguments.backend, {{"nccl", Backend::nccl}, {"gloo", Backend::gloo}},
      "library of the process group: nccl (default), or gloo, which reduces on the host");
  command.add_option(
      "--gloo", arguments.gloo,
      "what binds gloo there, any of \"process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us "
      "start:60us copy:11GBps fresh:1.5GBps threads:2 tensors:device|host\"");
}

void require_one_backend(const BackendArguments& arguments, const TypedLine& typed, bool flow) {
  if (arguments.backend == Backend::nccl) {
    if (arguments.gloo) throw UsageError("--gloo: only with --backend gloo; add it");
    return;
  }
  if (flow) throw UsageError("--network flow: it knows NCCL's collectives only; leave it out");
  if (const auto option = typed.first_of(kNcclGroup))
    throw UsageError(fmt::format("{}: it sets NCCL, which --backend gloo does not use", *option));
}

GlooLinks gloo_links(const BackendArguments& arguments, GlooLinks links,
                     const GlooCalibration* calibration, std::vector<std::string>* replaced) {
  if (!arguments.gloo) return links;
  const std::vector<std::string> known = {"process", "fill",  "host",  "step",    "start",
                                          "copy",    "fresh", "cache", "threads", "tensors"};
  for (const auto& [key, value] : key_values("--gloo", *arguments.gloo, known)) {
    if (key == "process") links.process = read_rate(key, value);
    if (key == "host") links.host = read_rate(key, value);
    if (key == "copy") links.copy = read_rate(key, value);
    if (key == "fresh") links.fresh = read_rate(key, value);
    if (key == "cache") links.cache = read_size(key, value);
    if (key == "fill") links.to_fill = read_fill(value);
    if (key == "step") links.step = read_time(key, value);
    if (key == "start") links.start = read_time(key, value);
    if (key == "threads") links.threads = read_threads(value);
    if (key == "tensors") links.host_tensors = read_tensors(value);
    if (calibration == nullptr || replaced == nullptr) continue;
    for (const GlooConstant* constant : calibration->fitted)
      if (constant->word == key)
        replaced->push_back(fmt::format(
            "--gloo {}:{} replaces {:.4g}{}{}, which {} log{} of this cluster told: "
            "the interval is as wide as without them",
            key, value, constant->of(calibration->links), constant->unit.empty() ? "" : " ",
            constant->unit, calibration->logs.size(), calibration->logs.size() == 1 ? "" : "s"));
  }
  return links;
}

void require_sane_rates(const GlooLinks& links, const Cluster& cluster, const Workload& workload) {
  if (cluster.hosts() > 1 && cluster.network.kind == NetworkKind::none)
    throw UsageError(
        "--backend gloo: gloo sends by NICs from node to node, and the cluster states none; add "
        "some, "
        "such as nic:1x100Gbps:ib");
  double bytes = 0;
  for (const Parameter& parameter : workload.parameters)
    bytes += static_cast<double>(gradient_bytes(parameter).value_or(Bytes()).count());
  for (const BufferGroup& group : workload.buffers)
    bytes += static_cast<double>(group.bytes.count());
  const double gpus = std::max(1, cluster.gpus_per_host());
  double slowest = std::min({links.process.bytes_per_second(), links.host.bytes_per_second() / gpus,
                             links.copy.bytes_per_second(), links.fresh.bytes_per_second()});
  if (cluster.hosts() > 1)
    slowest = std::min(
        slowest, std::min(cluster.network.per_nic, trunk_rate(cluster)).bytes_per_second() / 2);
  constexpr double kPasses = 64;  // of a broadcast's rounds and an all-reduce's two volumes
  const double steps = 4.0 * cluster.ranks() * static_cast<double>(workload.parameters.size()) *
                       (links.step + links.start).seconds();
  if (!(kPasses * bytes / slowest + steps < kLongestStepSeconds))
    throw UsageError(
        fmt::format("--gloo: a step would take longer than {:.0f} days; check the units of rates",
                    kLongestStepSeconds / 86400));
}

}  // namespace ddpsim
