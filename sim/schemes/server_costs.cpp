#include "server_costs.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "ddpsim/sim/values/optimizer.hpp"
#include "gloo_cost.hpp"
#include "memory_parts.hpp"
#include "pipeline_cost.hpp"

namespace ddpsim {
namespace {

/// U. Servers are assumed to keep parameters in fp32.
double step_in_additions(const OptimizerSetting& optimizer) {
  constexpr Bytes kParameters{1'000'000};
  const double state =
      static_cast<double>(optimizer_bytes(optimizer, Dtype::float32, kParameters).state.count()) /
      static_cast<double>(kParameters.count());
  return (3 + 2 * state) / 3;
}

/// Rate of all NICs of a node to `peers` others. Over gloo, the rate of its own links, with one
/// process for each GPU.
Bandwidth rate_of_node(const Job& job, int peers) {
  const Cluster& cluster = job.cluster();
  if (const auto* gloo = std::get_if<GlooModel>(&job.model())) return gloo_link(*gloo, cluster);
  const Network& network = cluster.network;
  const double nics = network.per_nic.bytes_per_second() * network.nics_per_node *
                      wire_share(LinkKind::nic, cluster);
  return Bandwidth::bytes_per_second(std::min(nics, connections_rate(peers, cluster)));
}

Duration message_of(const Job& job) {
  const Cluster& cluster = job.cluster();
  if (const auto* gloo = std::get_if<GlooModel>(&job.model())) return gloo_message(*gloo, cluster);
  const Network& network = cluster.network;
  if (through_sockets(network)) return GlooLinks().step + network.latency.value_or(Duration());
  return Duration::microseconds(
      constants_of(cluster).hop_us[static_cast<std::size_t>(Protocol::simple)]);
}

}  // namespace

ServerCosts::ServerCosts(const Job& job, const ParameterServer& scheme)
    : free_(std::holds_alternative<FreeModel>(job.model())),
      colocated_(scheme.colocated && !scheme.host),
      workers_(scheme.host ? job.cluster().gpus_per_node : job.cluster().nodes),
      servers_(scheme.host ? 1 : scheme.servers.value_or(workers_)),
      additions_(scheme.server_bandwidth) {
  if (scheme.update == ParameterServer::Update::server)
    updates_ = step_in_additions(job.options().optimizer);
  const bool together = scheme.mode == ParameterServer::Mode::sync;
  applied_ = together ? workers_ + updates_ : workers_ * (1 + updates_);
  const auto* gloo = std::get_if<GlooModel>(&job.model());
  const GlooLinks links = gloo != nullptr ? gloo->links : GlooLinks();
  const Bandwidth copy = links.copy;
  if (scheme.host) {
    link_ = server_link_ = copy;
  } else {
    networked_ = true;
    if (!links.host_tensors) copies_ = copy * job.cluster().gpus_per_node;
    if (workers_ > 1) {
      link_ = rate_of_node(job, servers_);
      server_link_ = rate_of_node(job, workers_);
      message_ = message_of(job);
    }
  }
  if (const CostFactors* factors = cost_factors_of(job.model())) factors_ = *factors;
  message_ = message_.scaled(factors_.fixed);
}

Duration ServerCosts::additions(Bytes bytes, double count) const {
  return Bytes(std::llround(static_cast<double>(bytes.count()) * count)) / additions_;
}

Duration ServerCosts::copied(Bytes bytes) const {
  return copies_ > Bandwidth() ? bytes / copies_ : Duration();
}

ServerCosts::Transfer ServerCosts::push(Bytes gradient) const {
  if (free_) return {};
  const bool on_wire = link_ > Bandwidth();
  const int senders = colocated_ ? workers_ - 1 : workers_;
  Duration own;
  Duration wire;
  if (on_wire) {
    own = gradient / link_;
    wire = networked_ ? std::max(own, gradient * senders / server_link_) : own;
  }
  Transfer push;
  push.transfer = std::max(wire, additions(gradient, applied_));
  push.after = std::max(wire + additions(gradient, 1 + updates_) - push.transfer, Duration());
  push.volume = colocated_ && servers_ == workers_ ? own.scaled((servers_ - 1.0) / servers_) : own;
  if (networked_) {
    push.before = copied(gradient) + message_;
    push.after += message_;
  }
  push.volume = std::min(push.volume, push.transfer);
  push.transfer = factors_.bytes(push.transfer);
  push.volume = factors_.bytes(push.volume);
  return push;
}

ServerCosts::Transfer ServerCosts::pull(Bytes bytes) const {
  if (free_) return {};
  Transfer pull;
  const int receivers = colocated_ ? workers_ - 1 : workers_;
  if (link_ > Bandwidth()) {
    const Duration own = bytes / link_;
    pull.transfer = networked_ ? std::max(own, bytes * receivers / server_link_) : own;
    pull.volume =
        colocated_ ? std::min(own.scaled((workers_ - 1.0) / servers_), pull.transfer) : own;
  }
  if (networked_) {
    pull.before = message_;
    pull.after = copied(bytes);
  }
  pull.transfer = factors_.bytes(pull.transfer);
  pull.volume = factors_.bytes(pull.volume);
  return pull;
}

double ServerCosts::seconds_at_most(double bytes) const {
  double slowest = additions_.bytes_per_second() / (applied_ + 1 + updates_);
  if (link_ > Bandwidth()) {
    slowest = std::min({slowest, link_.bytes_per_second(),
                        server_link_.bytes_per_second() / std::max(workers_, 1)});
  }
  return 4 * bytes / slowest;
}

}  // namespace ddpsim
