// Names, and the one road from a collective model to a duration.
#include "ddpsim/sim/collective.hpp"

#include <algorithm>
#include <string>

#include "flow_planner.hpp"
#include "gloo_law.hpp"
#include "nccl_tuning.hpp"
#include "pipeline_law.hpp"

namespace ddpsim {
namespace {

struct Planner {
  CollectiveKind kind;
  Bytes size;
  std::size_t index;

  CollectivePlan operator()(const AnalyticModel& model) const {
    const CollectiveChoice choice = choose(kind, size, model.cluster, model.tuning);
    return planned(choice, model, cost(kind, choice, size, model.cluster));
  }
  CollectivePlan operator()(const FlowModel& model) const {
    const CollectiveChoice choice = choose(kind, size, model.cluster, model.tuning);
    const Duration transfer = model.network->has_channels(kind, choice)
                                  ? model.network->alone(kind, choice, size)
                                  : cost(kind, choice, size, model.cluster);
    return planned(choice, model, transfer);
  }
  CollectivePlan operator()(const GlooModel& model) const { return gloo_plan(model, kind, size); }
  CollectivePlan operator()(const RecordedModel& model) const {
    if (index >= model.durations.size()) return {};
    return {.transfer = model.durations[index],
            .choice = std::nullopt,
            .channels = model.channels,
            .volume = model.durations[index]};
  }
  CollectivePlan operator()(const FreeModel&) const { return {}; }

  CollectivePlan planned(const CollectiveChoice& choice, const AnalyticModel& model,
                         Duration transfer) const {
    const Duration bytes = volume(choice, model.cluster, transfer);
    return {.transfer = model.scale.apply(transfer, bytes),
            .choice = choice,
            .channels = choice.channels,
            .volume = bytes.scaled(model.scale.bandwidth)};
  }

  Duration volume(const CollectiveChoice& choice, const Cluster& cluster, Duration transfer) const {
    if (cluster.ranks() <= 1) return Duration();
    const double us = pipeline_terms(kind, choice, size, cluster).transfer_us;
    return std::min(Duration::microseconds(us), transfer);
  }
};

/// Lower case, underscores taken out.
std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

template <typename Enum>
std::optional<Enum> parse(std::string_view word, int count) {
  const std::string sought = plain(word);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    if (plain(name_of(value)) == sought) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Algorithm> parse_algorithm(std::string_view word) {
  return parse<Algorithm>(word, kAlgorithms);
}

std::optional<Protocol> parse_protocol(std::string_view word) {
  return parse<Protocol>(word, kProtocols);
}

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return "tree";
    case Algorithm::ring:
      break;
    case Algorithm::collnet_direct:
      return "collnetdirect";
    case Algorithm::collnet_chain:
      return "collnetchain";
    case Algorithm::nvls:
      return "nvls";
    case Algorithm::nvls_tree:
      return "nvlstree";
  }
  return "ring";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      break;
  }
  return "Simple";
}

FlowModel flow_model(const Cluster& cluster, const CollectiveTuning& tuning, Fabric fabric,
                     const Background& background) {
  return {{.cluster = cluster, .tuning = tuning},
          std::make_shared<FlowPlanner>(cluster, std::move(fabric), background)};
}

const AnalyticModel* chooser_of(const CollectiveModel& model) {
  if (const AnalyticModel* analytic = std::get_if<AnalyticModel>(&model)) return analytic;
  return std::get_if<FlowModel>(&model);
}

AnalyticModel* chooser_of(CollectiveModel& model) {
  return const_cast<AnalyticModel*>(chooser_of(std::as_const(model)));
}

TimeScale* time_scale_of(CollectiveModel& model) {
  if (GlooModel* gloo = std::get_if<GlooModel>(&model)) return &gloo->scale;
  AnalyticModel* nccl = chooser_of(model);
  return nccl == nullptr ? nullptr : &nccl->scale;
}

double collectives_to_fill(const CollectiveModel& model) {
  if (const GlooModel* gloo = std::get_if<GlooModel>(&model))
    return gloo_collectives_to_fill(*gloo);
  const AnalyticModel* nccl = chooser_of(model);
  if (nccl == nullptr || nccl->cluster.nodes <= 1) return 1;
  const Network& network = nccl->cluster.network;
  if (!through_sockets(network)) return 1;
  const double nominal = network.per_nic.bytes_per_second() * network.nics_per_node;
  const double connections =
      connections_rate(communicator_channels(nccl->cluster, nccl->tuning), nccl->cluster);
  const double one = std::min(wire_share(LinkKind::nic, nccl->cluster), connections / nominal);
  return std::max(1.0, kFramePayload / one);
}

int collectives_at_a_time(const CollectiveModel& model) {
  const GlooModel* gloo = std::get_if<GlooModel>(&model);
  return gloo == nullptr ? 1 : gloo->links.threads;
}

CollectivePlan plan(const CollectiveModel& model, CollectiveKind kind, Bytes size,
                    std::size_t index) {
  return std::visit(Planner{kind, size, index}, model);
}

}  // namespace ddpsim
