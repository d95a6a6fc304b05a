#include "ddpsim/sim/collective_model.hpp"

#include <algorithm>

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

}  // namespace

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
