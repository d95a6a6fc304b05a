// Leads from a job's model to the time of a collective. There is no other way.
#include "ddpsim/sim/collectives/job.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"
#include "flow_planner.hpp"
#include "gloo_cost.hpp"
#include "nccl_tuning.hpp"
#include "pipeline_cost.hpp"

namespace ddpsim {
namespace {

struct Planner {
  const Job& job;
  CollectiveKind kind;
  Bytes size;
  std::size_t index;

  CollectivePlan operator()(const AnalyticModel& model) const {
    return planned(select_algorithm(kind, size, job.cluster(), model.tuning), model.factors, {});
  }
  CollectivePlan operator()(const FlowModel& model) const {
    const CollectiveChoice choice = select_algorithm(kind, size, job.cluster(), model.tuning);
    std::optional<Duration> over_links;
    if (job.network()->has_channels(kind, choice))
      over_links = job.network()->alone(kind, choice, size);
    return planned(choice, model.factors, over_links);
  }
  CollectivePlan operator()(const GlooModel& model) const {
    return gloo_plan(model, job.cluster(), kind, size);
  }
  CollectivePlan operator()(const RecordedModel& model) const {
    if (index >= model.durations.size()) return {};
    return {.transfer = model.durations[index],
            .choice = std::nullopt,
            .channels = model.channels,
            .volume = model.durations[index]};
  }
  CollectivePlan operator()(const FreeModel&) const { return {}; }

  /// The transfer takes as long as the cost model says, unless `over_links` is given.
  CollectivePlan planned(const CollectiveChoice& choice, const CostFactors& factors,
                         std::optional<Duration> over_links) const {
    PipelineTerms terms;
    if (job.cluster().ranks() > 1) terms = pipeline_terms(kind, choice, size, job.cluster());
    const Duration transfer = over_links.value_or(Duration::microseconds(terms.total_us()));
    const Duration bytes = std::min(Duration::microseconds(terms.transfer_us), transfer);
    const Duration least = least_time(kind, choice, size, job.cluster());
    return {.transfer = factors.apply(transfer, bytes, least),
            .choice = choice,
            .channels = choice.channels,
            .volume = factors.bytes(bytes, least)};
  }
};

std::shared_ptr<const std::vector<Bytes>> gradients_of(const Workload& workload) {
  std::vector<Bytes> gradients;
  gradients.reserve(workload.parameters.size());
  for (const Parameter& parameter : workload.parameters)
    gradients.push_back(gradient_bytes(parameter).value_or(Bytes()));
  return std::make_shared<const std::vector<Bytes>>(std::move(gradients));
}

std::shared_ptr<const Cluster> find_group(const Cluster& cluster, int nodes, int gpus_per_node) {
  for (const std::shared_ptr<const Cluster>& group : cluster.groups)
    if (group->nodes == nodes && group->gpus_per_node == gpus_per_node) return group;
  return nullptr;
}

std::shared_ptr<FlowPlanner> network_of(const std::shared_ptr<const Cluster>& cluster,
                                        const CollectiveModel& model) {
  const FlowModel* flow = std::get_if<FlowModel>(&model);
  if (flow == nullptr) return nullptr;
  for (const RingChannel& ring : flow->fabric->rings)
    DDPSIM_ASSERT(ring.ranks.size() == static_cast<std::size_t>(cluster->ranks()),
                  "the fabric of a flow model is another cluster's", ring.ranks.size(),
                  cluster->ranks());
  return std::make_shared<FlowPlanner>(cluster, flow->fabric, *flow->background);
}

}  // namespace

Job::Job(Workload workload, Cluster cluster, SimulationOptions options, CollectiveModel model)
    : workload_(std::make_shared<const Workload>(std::move(workload))),
      gradients_(gradients_of(*workload_)),
      cluster_(std::make_shared<const Cluster>(std::move(cluster))),
      options_(std::make_shared<const SimulationOptions>(std::move(options))),
      model_(std::move(model)),
      network_(network_of(cluster_, model_)) {}

Job Job::with(Workload workload) const {
  Job other = *this;
  other.workload_ = std::make_shared<const Workload>(std::move(workload));
  other.gradients_ = gradients_of(*other.workload_);
  return other;
}

Job Job::with(SimulationOptions options) const {
  Job job = *this;
  job.options_ = std::make_shared<const SimulationOptions>(std::move(options));
  return job;
}

Job Job::with(CollectiveModel model) const {
  Job job = *this;
  const FlowModel* before = std::get_if<FlowModel>(&model_);
  const FlowModel* after = std::get_if<FlowModel>(&model);
  // If the links do not change, the network and its planner are kept, because the planner remembers
  // its answers.
  const bool same_network = before != nullptr && after != nullptr &&
                            before->fabric == after->fabric &&
                            before->background == after->background;
  if (!same_network) job.network_ = network_of(cluster_, model);
  job.model_ = std::move(model);
  return job;
}

Job Job::with(std::shared_ptr<const LinkLoads> loads) const {
  Cluster cluster = *cluster_;
  cluster.loads = std::move(loads);
  return on(std::make_shared<const Cluster>(std::move(cluster)));
}

Job Job::on(std::shared_ptr<const Cluster> cluster) const {
  const bool flow = std::holds_alternative<FlowModel>(model_);
  Job job = flow ? with(CollectiveModel(AnalyticModel(*nccl_of(model_)))) : *this;
  job.cluster_ = std::move(cluster);
  return job;
}

bool Job::has_group(int nodes, std::optional<int> gpus_per_node) const {
  const int gpus =
      std::min(gpus_per_node.value_or(cluster_->gpus_per_node), cluster_->gpus_per_node);
  return (nodes >= cluster_->nodes && gpus == cluster_->gpus_per_node) ||
         find_group(*cluster_, std::min(nodes, cluster_->nodes), gpus) != nullptr;
}

Job Job::within(int nodes, std::optional<int> gpus_per_node) const {
  const int gpus =
      std::min(gpus_per_node.value_or(cluster_->gpus_per_node), cluster_->gpus_per_node);
  if (nodes >= cluster_->nodes && gpus == cluster_->gpus_per_node) return *this;
  std::shared_ptr<const Cluster> group =
      find_group(*cluster_, std::min(nodes, cluster_->nodes), gpus);
  DDPSIM_ASSERT(group != nullptr, "nothing is known of some of the nodes", nodes);
  return on(std::move(group));
}

CollectivePlan plan(const Job& job, CollectiveKind kind, Bytes size, std::size_t index) {
  return std::visit(Planner{job, kind, size, index}, job.model());
}

double collectives_to_fill(const Job& job) {
  const Cluster& cluster = job.cluster();
  if (const GlooModel* gloo = std::get_if<GlooModel>(&job.model()))
    return gloo_collectives_to_fill(*gloo, cluster);
  const AnalyticModel* nccl = nccl_of(job.model());
  if (nccl == nullptr || cluster.nodes <= 1 || !through_sockets(cluster.network)) return 1;
  const Network& network = cluster.network;
  const double nominal = network.per_nic.bytes_per_second() * network.nics_per_node;
  const double connections =
      connections_rate(communicator_channels(cluster, nccl->tuning), cluster);
  const double one = std::min(wire_share(LinkKind::nic, cluster), connections / nominal);
  return std::max(1.0, kFramePayload / one);
}

int collectives_at_a_time(const Job& job) {
  const GlooModel* gloo = std::get_if<GlooModel>(&job.model());
  return gloo == nullptr ? 1 : gloo->links.threads;
}

bool is_timed_beside_compute(const Job& job) {
  if (nccl_of(job.model()) == nullptr) return true;
  const Cluster& cluster = job.cluster();
  return cluster.calibration &&
         std::ranges::any_of(cluster.calibration->shapes, [&](const CalibratedShape& shape) {
           return shape.nodes == cluster.nodes && shape.gpus_per_node == cluster.gpus_per_node &&
                  shape.timed_by != TimedBy::all_reduce_perf;
         });
}

}  // namespace ddpsim
