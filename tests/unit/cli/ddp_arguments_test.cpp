// DDP's options on the command line: their values, limits and errors.
#include "ddp_arguments.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

/// Returns the options that these words set.
DdpArguments typed_arguments(std::vector<std::string> words) {
  CLI::App app;
  DdpArguments arguments;
  add_bucket_options(app, arguments);
  add_step_options(app, arguments);
  app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return arguments;
}

DdpOptions typed_options(const std::vector<std::string>& words) {
  return ddp_options(typed_arguments(words));
}

/// Returns the error of these words; empty if there is none.
std::string typed_complaint(const std::vector<std::string>& words) {
  try {
    stated_torch(typed_arguments(words).torch);
    typed_options(words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool is_typed(const std::vector<std::string>& words) {
  return typed_complaint(words).empty();
}

}  // namespace

TEST_CASE("DDP options: every option sets its value in DdpOptions") {
  const DdpOptions standard;
  CHECK(bool(typed_options({}) == standard));
  const auto is = [&](const std::vector<std::string>& words, const auto& set) {
    DdpOptions expected = standard;
    set(expected);
    CAPTURE(words.front());
    CHECK(bool(typed_options(words) == expected));
    CHECK(bool(expected != standard));
  };
  is({"--bucket-cap-mb", "7"}, [](auto& of) { of.bucket_cap_mb = 7; });
  is({"--first-bucket-mb", "2"}, [](auto& of) { of.first_bucket_mb = 2; });
  is({"--bucket-cap-mb-list", "1,2.5,0"}, [](auto& of) { of.bucket_cap_mb_list = {1, 2.5, 0}; });
  CHECK(stated_torch(typed_arguments({"--torch", "1.9"}).torch) == TorchVersion{1, 9});
  CHECK(typed_arguments({"--accumulate", "4"}).accumulate == 4);
  is({"--find-unused-parameters"}, [](auto& of) { of.find_unused_parameters = true; });
  is({"--static-graph"}, [](auto& of) { of.static_graph = true; });
  is({"--gradient-as-bucket-view"}, [](auto& of) { of.gradient_as_bucket_view = true; });
  is({"--no-broadcast-buffers"}, [](auto& of) { of.broadcast_buffers = false; });
  is({"--process-groups", "3"}, [](auto& of) { of.process_groups = 3; });
  is({"--comm-hook", "fp16"}, [](auto& of) { of.comm_hook = CommHook::fp16_compress; });
  is({"--comm-hook-min-mb", "1.5"}, [](auto& of) { of.comm_hook_min_mb = 1.5; });
  is({"--comm-hook", "powersgd", "--matrix-approximation-rank", "4", "--min-compression-rate", "3"},
     [](auto& of) {
       of.comm_hook = CommHook::power_sgd;
       of.power_sgd = {.matrix_approximation_rank = 4, .min_compression_rate = 3};
     });
  is({"--comm-hook", "post_localSGD", "--local-sgd-period", "6", "--local-sgd-gradients", "none"},
     [](auto& of) {
       of.comm_hook = CommHook::post_local_sgd;
       of.local_sgd = {.period = 6, .averages_gradients = false};
     });
  is({"--apply-optimizer-in-backward"}, [](auto& of) { of.optimizer_in_backward = true; });
  is({"--sync-batchnorm"}, [](auto& of) { of.sync_batchnorm = true; });
  is({"--sync-batchnorm-group", "8"}, [](auto& of) { of.sync_batchnorm_group = 8; });
}

TEST_CASE("DDP options: the last number that an option takes and the first that it refuses") {
  struct Range {
    std::vector<std::string> option;
    int least, most;
  };
  for (const Range& range :
       {Range{{"--process-groups"}, 1, 64}, Range{{"--accumulate"}, 1, 100'000},
        Range{{"--sync-batchnorm-group"}, 1, 10'000'000},
        Range{{"--comm-hook", "powersgd", "--matrix-approximation-rank"}, 1, 1024},
        Range{{"--comm-hook", "post_localSGD", "--local-sgd-period"}, 1, 1'000'000}}) {
    const auto with = [&](int value) {
      std::vector<std::string> words = range.option;
      words.push_back(std::to_string(value));
      return is_typed(words);
    };
    CAPTURE(range.option.back());
    CHECK(with(range.least));
    CHECK(with(range.most));
    CHECK_FALSE(with(range.least - 1));
    CHECK_FALSE(with(range.most + 1));
  }
  const std::vector<std::string> power{"--comm-hook", "powersgd", "--min-compression-rate"};
  for (const auto& [rate, taken] : {std::pair("1e-9", true), {"0", false}, {"-1", false}}) {
    std::vector<std::string> words = power;
    words.emplace_back(rate);
    CHECK(is_typed(words) == taken);
  }
}

TEST_CASE("DDP options: options of a hook need that hook") {
  const std::string of_power =
      "--matrix-approximation-rank and --min-compression-rate are options of powerSGD_hook; add "
      "--comm-hook "
      "powersgd";
  CHECK(typed_complaint({"--matrix-approximation-rank", "2"}) == of_power);
  CHECK(typed_complaint({"--min-compression-rate", "2", "--comm-hook", "fp16"}) == of_power);
  const std::string of_local =
      "--local-sgd-period and --local-sgd-gradients are options of post_localSGD_hook; add "
      "--comm-hook "
      "post_localSGD";
  CHECK(typed_complaint({"--local-sgd-period", "2"}) == of_local);
  CHECK(typed_complaint({"--local-sgd-gradients", "node"}) == of_local);
  CHECK(typed_complaint({"--comm-hook", "powersgd", "--min-compression-rate", "nan"}) ==
        "--min-compression-rate: expected a finite number (default: 2)");
}

TEST_CASE("DDP options: MiB must be finite and not negative, also in lists") {
  for (const char* text : {"-0.1", "inf", "nan", "", "2MiB", "1e400"})
    for (const char* option :
         {"--bucket-cap-mb", "--first-bucket-mb", "--bucket-cap-mb-list", "--comm-hook-min-mb"}) {
      CAPTURE(text);
      CAPTURE(option);
      CHECK(typed_complaint({fmt::format("{}={}", option, text)})
                .starts_with(*text == '\0' ? "" : fmt::format("{}: \"{}\"", option, text)));
      CHECK((*text == '\0' || !is_typed({option, text})));
    }
  CHECK(is_typed({"--bucket-cap-mb", "0"}));
  CHECK_FALSE(is_typed({"--bucket-cap-mb-list", "1,,2"}));
  CHECK_FALSE(is_typed({"--bucket-cap-mb-list", "1,2,"}));
  CHECK_FALSE(is_typed({"--torch", "two"}));
}
