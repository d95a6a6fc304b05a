#include "data_loader_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"

namespace ddpsim {
namespace {

constexpr const char* kOption = "--data-loader";

/// The loader that the keys describe, and the names of the keys given.
struct LoaderKeys {
  DataLoader loader;
  std::vector<std::string> keys;
  bool has(const char* key) const { return std::ranges::find(keys, key) != keys.end(); }
};

/// The key storage: "2GBps" is the rate of each node, "2GBps:shared" that of all nodes together.
OptionKey storage_key(DataLoader& loader) {
  const OptionKey rate =
      bandwidth_key("storage", [&loader](Bandwidth bandwidth) { loader.storage = bandwidth; });
  return {
      rate.name, [rate, &loader](const std::string& value) {
        constexpr std::string_view kShared = ":shared";
        loader.storage_shared = value.ends_with(kShared);
        rate.take(loader.storage_shared ? value.substr(0, value.size() - kShared.size()) : value);
      }};
}

LoaderKeys take_loader(const std::string& text) {
  LoaderKeys given;
  DataLoader& loader = given.loader;
  const auto whole = [](int& into) {
    return [&into](std::int64_t value) { into = static_cast<int>(value); };
  };
  const auto maybe = [](auto& into) {
    return [&into](auto value) { into = static_cast<std::decay_t<decltype(*into)>>(value); };
  };
  const auto value = [](auto& into) { return [&into](auto read) { into = read; }; };
  given.keys = take_keys(
      kOption, text,
      {count_key("num_workers", whole(loader.num_workers), 0, 512),
       count_key("prefetch_factor", whole(loader.prefetch_factor), 1, 1024),
       flag_key("pin_memory", loader.pin_memory), flag_key("non_blocking", loader.non_blocking),
       duration_key("batch", maybe(loader.batch)), duration_key("sample", maybe(loader.sample)),
       bytes_key("sample_bytes", value(loader.sample_bytes)), storage_key(loader),
       count_key("cores", maybe(loader.cores), 1, 100'000),
       bytes_key("batch_bytes", value(loader.batch_bytes)),
       bandwidth_key("pcie", maybe(loader.pcie)), bandwidth_key("pin", value(loader.pin)),
       duration_key("worker_start", value(loader.worker_start)),
       count_key("steps_ahead", maybe(loader.steps_ahead), 0, 1000)});
  return given;
}

}  // namespace

void add_data_loader_option(CLI::App& command, std::optional<std::string>& data_loader) {
  const HelpGroup group(command, kRecordingGroup);
  command
      .add_option(kOption, data_loader,
                  "Simulate the DataLoader, such as num_workers=8,batch=120ms,pin_memory=true "
                  "(docs/reference/data_loading.md has all keys)")
      ->type_name("KEY=VALUE,…");
}

DataLoader parse_data_loader(const std::string& text) {
  const LoaderKeys given = take_loader(text);
  const auto fail = [](const char* message, Hint hint = {}) {
    throw UsageError(kOption, message, std::move(hint));
  };
  const DataLoader& loader = given.loader;
  if (loader.batch && loader.sample)
    fail("batch and sample both state a worker's time, for a whole batch or for one sample",
         "Leave one of them out");
  if (!loader.batch && !loader.sample && !loader.storage)
    fail(
        "the time to load a batch is missing; add batch=120ms, sample=4ms or "
        "storage=2GBps,sample_bytes=110KB");
  if (given.has("storage") != given.has("sample_bytes"))
    fail(
        "storage=RATE and sample_bytes=SIZE belong together: the rate of a node (RATE:shared: of "
        "all nodes), and the size of a sample");
  if (given.has("prefetch_factor") && loader.num_workers == 0)
    fail("prefetch_factor: DataLoader refuses it unless num_workers is 1 or more");
  if (given.has("worker_start") && loader.num_workers == 0)
    fail("worker_start: with num_workers=0 there are no workers to start");
  if (loader.cores && loader.num_workers == 0)
    fail("cores: with num_workers=0 there are no workers to share them");
  if (loader.non_blocking && !loader.pin_memory)
    fail("non_blocking: a copy from memory that is not pinned always blocks",
         "Add pin_memory=true");
  if (given.has("pcie") && loader.batch_bytes == Bytes())
    fail("pcie: nothing is copied without batch_bytes=SIZE");
  if (loader.pin_memory && loader.batch_bytes == Bytes())
    fail("pin_memory: the time to pin a batch depends on batch_bytes=SIZE", "Add it");
  return loader;
}

}  // namespace ddpsim
