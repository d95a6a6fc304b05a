// Local SGD on the step of paper_step.hpp, two GPUs in each of two nodes.
#include "local_sgd.hpp"

#include <memory>

#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "mentions.hpp"
#include "paper_step.hpp"
#include "setting.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// The network between the nodes is a hundred times slower than the links within.
Cluster two_nodes() {
  Cluster cluster = gpus();
  cluster.groups = {std::make_shared<const Cluster>(cluster)};
  cluster.nodes = 2;
  cluster.network = {.kind = NetworkKind::infiniband, .nics_per_node = 1, .per_nic = 1_GBps};
  cluster.ring.inter = cluster.tree.inter = 1_GBps;
  return cluster;
}

SimulationOptions local(SimulationOptions options, int period = 4) {
  options.ddp_to_set().comm_hook = CommHook::post_local_sgd;
  options.ddp_to_set().local_sgd.period = period;
  options.torch = {2, 8};
  return options;
}

/// An all-reduce within a node takes 40 us. The averaging sends nothing.
RecordedModel in_node() {
  return wire({1_us, 1_us, 1_us, 1_us, 40_us});
}

std::string averaging_problem(const SimulationOptions& options,
                              const Cluster& cluster = two_nodes()) {
  return cannot_simulate(Job(workload(), cluster, options, in_node())).value_or("");
}

}  // namespace

TEST_CASE("local SGD: a step's share of an averaging follows the optimizer") {
  // 7 MB are flattened in 3 + 14 us and divided in the same time. The host needs 3 us to see the
  // end, 40 and 12 us to launch, and 3 us afterwards.
  const SimulationResult result = simulated(local(all_costs()), workload(), in_node(), two_nodes());
  const StepTimes& times = result.step.times;
  REQUIRE(result.step.averaging);
  CHECK(result.step.averaging->period == 4);
  CHECK(result.step.averaging->bytes == 7'000'000_B);
  CHECK(result.step.averaging->whole == 92_us);
  CHECK(times.model_averaging == 23_us);
  CHECK(times.loss[LossCause::model_averaging] == 23_us);
  CHECK(times.blocking_communication() == times.exposed_communication + 23_us);
  const StepTimes seldom =
      step_with(local(all_costs(), 92), workload(), in_node(), two_nodes()).times;
  CHECK(times.iteration - seldom.iteration == 22_us);
  CHECK(times.alone() == seldom.alone());
  CHECK(drawn(result.timeline.ranks.at(0)).find("compute model averaging, 1/4 of 92 us: ") !=
        std::string::npos);
}

TEST_CASE("local SGD: buckets are divided in place and reduced within a node") {
  // A hook takes 30 us on the host. The division of b0 takes 3 + 4 us after its copy at 157: 164 to
  // 167. The all-reduce takes 40 us.
  const StepResult step = step_with(local(all_costs()), workload(), in_node(), two_nodes());
  CHECK(step.buckets[0].start == small::at(167_us));
  CHECK(step.buckets[0].end == small::at(207_us));
  CHECK(step.buckets[0].bytes == 2'000'000_B);

  const Job job(workload(), two_nodes(), local(free_of_costs()), AnalyticModel{});
  const Job node = job.within(1);
  CHECK(node.cluster().ranks() == 2);
  CHECK(job.within(2).cluster().ranks() == 4);
  const StepResult modelled = simulate(job).step;
  for (const BucketResult& bucket : modelled.buckets) {
    const CollectivePlan within = plan(node, CollectiveKind::all_reduce, bucket.bucket.bytes);
    REQUIRE(bucket.choice);
    CHECK(bucket.choice->algorithm == within.choice->algorithm);
    CHECK(bucket.choice->channels == within.choice->channels);
    CHECK(within.transfer < plan(job, CollectiveKind::all_reduce, bucket.bucket.bytes).transfer);
  }
  const Duration over_all = plan(job, CollectiveKind::all_reduce, 7'000'000_B).transfer;
  CHECK(modelled.averaging->whole == over_all);
  CHECK(modelled.times.model_averaging == over_all.scaled(0.25));
  CHECK(all_reduce_sizes(job) ==
        std::vector<Bytes>{2'000'000_B, 4'000'000_B, 1'000'000_B, 7'000'000_B});
}

TEST_CASE("local SGD: without all-reduces of gradients nothing is sent in a step") {
  SimulationOptions options = local(free_of_costs());
  options.ddp_to_set().local_sgd.averages_gradients = false;
  const StepResult step = step_with(options, workload(), in_node(), two_nodes());
  CHECK(step.times.iteration == 330_us);
  CHECK(step.times.communication == Duration());
  CHECK_FALSE(step.times.overlap);
  for (const BucketResult& bucket : step.buckets) {
    CHECK(bucket.bytes == Bytes());
    CHECK(bucket.end == bucket.ready);
    CHECK(bucket.exposed_because.empty());
    CHECK_FALSE(bucket.choice);
  }
  options = local(all_costs());
  options.ddp_to_set().local_sgd.averages_gradients = false;
  // Copies in and out take 23 us each, as always. The hook's host is far ahead.
  CHECK(step_with(options, workload(), in_node(), two_nodes()).times.iteration == 376_us + 23_us);
}

TEST_CASE("local SGD: the averaged tensor has the widest type of parameters with a gradient") {
  Workload step = workload();
  FlatParameters flat = flat_parameters(step);
  CHECK(flat.bytes == 7'000'000_B);
  CHECK(flat.others == 0);
  step.parameters[kP1].dtype = Dtype::bfloat16;  // 2 MB for a million elements
  flat = flat_parameters(step);
  CHECK(flat.bytes == 7'000'000_B);
  CHECK(flat.moved == 5'000'000_B);
  CHECK(flat.of_others == 2'000'000_B);
  CHECK(flat.largest_other == 2'000'000_B);
  CHECK(flat.others == 1);
  step.parameters[kP0].dtype = step.parameters[kP2].dtype = Dtype::float16;
  CHECK(flat_parameters(step).bytes == 7'000'000_B);  // float32 holds both halves
  CHECK(flat_parameters(step).others == 3);
  step.backward->ready.pop_back();
  CHECK(flat_parameters(step).bytes == 6'000'000_B);
}

TEST_CASE("local SGD: cases that cannot be simulated are refused") {
  CHECK(averaging_problem(local(free_of_costs())) == "");
  Cluster differing = two_nodes();
  differing.groups.clear();
  CHECK(
      mentions(averaging_problem(local(free_of_costs()), differing), "the cluster's nodes differ"));
  CHECK(averaging_problem(local(free_of_costs()), gpus()) == "");
  SimulationOptions straggling = local(free_of_costs());
  straggling.variation.stragglers = {{1, 1.5}};
  CHECK(averaging_problem(straggling) == "");
  straggling.ddp_to_set().local_sgd.averages_gradients = false;
  CHECK(mentions(averaging_problem(straggling), "ranks meet only at the averaging"));
}

TEST_CASE("local SGD: a setting is offered only with several nodes") {
  const auto offered = [](const Cluster& cluster) {
    std::vector<std::string> lines;
    for (const Setting& setting :
         settings_of(Job(workload(), cluster, free_of_costs(), AnalyticModel{})))
      if (mentions(setting.name, "localSGD")) lines.push_back(setting.after);
    return lines;
  };
  SimulationOptions options = free_of_costs();
  const std::vector<std::string> lines = offered(two_nodes());
  REQUIRE(lines.size() == 2);
  CHECK(mentions(lines[0], "averagers.PeriodicModelAverager(4, 100)"));
  CHECK(mentions(lines[1], "averagers.PeriodicModelAverager(16, 100)"));
  CHECK(offered(gpus()).empty());
  Cluster differing = two_nodes();
  differing.groups.clear();
  CHECK(offered(differing).empty());
}
