#include "ddpsim/sim/values/parameter_server.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddpsim {
namespace {

const WordTable<ParameterServer::Pull>& words_of_pulls() {
  using Pull = ParameterServer::Pull;
  static const WordTable<Pull> table = {
      {Pull::forward, "forward"}, {Pull::backward, "backward"}, {Pull::priority, "priority"}};
  return table;
}

}  // namespace

std::string_view name_of(ParameterServer::Pull pull) {
  return word_for(words_of_pulls(), pull);
}

SchemeFacts ParameterServer::facts() const {
  return {.runs_reducer = false,
          .unknown = kUnknownOfPyTorch,
          .allows_unused = false,
          .one_at_a_time = false,
          .by_servers = true,
          .has_settings = false};
}

std::vector<SchemeOption> ParameterServer::options() {
  SchemeOption where{.name = "servers", .in_force = {}};
  if (host)
    where.in_force = "host";
  else if (servers)
    where.in_force = std::to_string(*servers);
  where.words = {.words = {"host"}, .set = [this](std::size_t /*word*/) { host = true; }};
  where.value = SchemeOption::Whole{1, kMostRanksOrSteps, [this](std::int64_t given) {
                                      host = false;
                                      servers = static_cast<int>(given);
                                    }};
  SchemeOption size = megabytes_option("partition_mb", partition, 0.001);
  if (placement != Placement::partitioned) size.in_force.reset();
  SchemeOption beside = flag_option("colocated", colocated);
  if (host) beside.in_force.reset();
  return {
      word_option<Mode>("mode", mode, {{Mode::sync, "sync"}, {Mode::async, "async"}}),
      std::move(where),
      word_option<Placement>(
          "placement", placement,
          {{Placement::whole, "whole"}, {Placement::partitioned, "partitioned"}}),
      std::move(size),
      word_option<Update>("update", update,
                          {{Update::server, "server"}, {Update::worker, "worker"}}),
      word_option("pull", pull, words_of_pulls()),
      std::move(beside),
      rate_option("server_bandwidth", fmt::format("{}", server_bandwidth.gigabytes_per_second()),
                  [this](Bandwidth given) { server_bandwidth = given; })};
}

std::vector<int> ParameterServer::groups(int gpus_per_node) const {
  if (host || gpus_per_node == 1) return {};
  return {gpus_per_node};
}

}  // namespace ddpsim
