#include "backend_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

constexpr int kMostThreads = 64;

Bandwidth read_rate(const std::string& text) {
  const Bandwidth rate = sound(parse_bandwidth(text));
  if (!(rate.bytes_per_second() > 0)) throw WrongValue("must be more than zero");
  return rate;
}

Duration read_time(const std::string& text) {
  const Duration time = sound(parse_duration(text));
  if (time < Duration() || time > Duration::seconds(1)) throw WrongValue("expected 0 to 1 s");
  return time;
}

int read_threads(const std::string& text) {
  const auto threads = parse_number<int>(text);
  if (!threads || *threads < 1 || *threads > kMostThreads)
    throw WrongValue(fmt::format("expected 1 to {}", kMostThreads));
  return *threads;
}

double read_fill(const std::string& text) {
  const auto fill = parse_number<double>(text);
  if (!fill || !(*fill >= 1 && *fill <= kMostThreads))
    throw WrongValue(fmt::format("expected a number from 1 to {}", kMostThreads));
  return *fill;
}

/// Returns a key of --gloo whose value, parsed by `read`, replaces `figure` of the links.
template <typename Value, typename Read>
OptionKey gloo_key(const std::string& word, Value GlooLinks::*figure, Read read,
                   std::vector<StatedGloo>& all) {
  return {
      word, [word, figure, read, &all](const std::string& text) {
        const Value value = read(text);
        all.push_back({word, text, [figure, value](GlooLinks& links) { links.*figure = value; }});
      }};
}

}  // namespace

void add_backend_options(CLI::App& command, BackendArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  add_word_option<Backend>(
      command, "--backend", arguments.backend, {{"nccl", Backend::nccl}, {"gloo", Backend::gloo}},
      "Run collectives with this library; gloo reduces on the host (default: nccl)");
  command
      .add_option(
          "--gloo", arguments.gloo,
          "Set what limits gloo: \"process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us "
          "start:60us copy:11GBps fresh:1.5GBps threads:2 tensors:device|host\"")
      ->type_name("\"KEY:VALUE …\"");
}

std::vector<StatedGloo> stated_gloo(const BackendArguments& arguments) {
  std::vector<StatedGloo> all;
  if (!arguments.gloo) return all;
  const auto size = [](const std::string& text) { return sound(parse_bytes(text)); };
  const auto on_host = [](const std::string& text) {
    return one_of<bool>(text, {{"host", true}, {"device", false}});
  };
  take_keys("--gloo", *arguments.gloo,
            {gloo_key("process", &GlooLinks::process, read_rate, all),
             gloo_key("fill", &GlooLinks::to_fill, read_fill, all),
             gloo_key("host", &GlooLinks::host, read_rate, all),
             gloo_key("step", &GlooLinks::step, read_time, all),
             gloo_key("start", &GlooLinks::start, read_time, all),
             gloo_key("copy", &GlooLinks::copy, read_rate, all),
             gloo_key("fresh", &GlooLinks::fresh, read_rate, all),
             gloo_key("cache", &GlooLinks::cache, size, all),
             gloo_key("threads", &GlooLinks::threads, read_threads, all),
             gloo_key("tensors", &GlooLinks::host_tensors, on_host, all)},
            KeyStyle::words);
  return all;
}

}  // namespace ddpsim
