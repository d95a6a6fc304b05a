#include "backend_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
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

/// Puts a value where `key` has it.
template <typename Value>
std::function<void(GlooLinks&)> into(Value GlooLinks::*member, Value value) {
  return [member, value](GlooLinks& links) { links.*member = value; };
}

std::function<void(GlooLinks&)> setter_of(const std::string& key, const std::string& value) {
  if (key == "process") return into(&GlooLinks::process, read_rate(key, value));
  if (key == "host") return into(&GlooLinks::host, read_rate(key, value));
  if (key == "copy") return into(&GlooLinks::copy, read_rate(key, value));
  if (key == "fresh") return into(&GlooLinks::fresh, read_rate(key, value));
  if (key == "cache") return into(&GlooLinks::cache, read_size(key, value));
  if (key == "fill") return into(&GlooLinks::to_fill, read_fill(value));
  if (key == "step") return into(&GlooLinks::step, read_time(key, value));
  if (key == "start") return into(&GlooLinks::start, read_time(key, value));
  if (key == "threads") return into(&GlooLinks::threads, read_threads(value));
  return into(&GlooLinks::host_tensors, read_tensors(value));
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

std::vector<StatedGloo> stated_gloo(const BackendArguments& arguments) {
  if (!arguments.gloo) return {};
  const std::vector<std::string> known = {"process", "fill",  "host",  "step",    "start",
                                          "copy",    "fresh", "cache", "threads", "tensors"};
  std::vector<StatedGloo> all;
  for (const auto& [key, value] : key_values("--gloo", *arguments.gloo, known))
    all.push_back({key, value, setter_of(key, value)});
  return all;
}

}  // namespace ddpsim
