// Parameter servers by hand (scheme_step.hpp has the numbers): two workers with one GPU each. Every
// push takes 30 us and every pull 20 us. Backward runs from 100 to 300.
#include <algorithm>
#include <limits>

#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "pipeline_cost.hpp"
#include "scheme_step.hpp"
#include "server_costs.hpp"
#include "server_parts.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

using Pull = ParameterServer::Pull;
using Update = ParameterServer::Update;
using Placement = ParameterServer::Placement;

Cluster workers(int nodes, int gpus = 1, double gigabytes_per_second = 10) {
  Cluster cluster = small::node(gpus);
  cluster.nodes = nodes;
  cluster.network = {.kind = NetworkKind::infiniband,
                     .nics_per_node = 1,
                     .per_nic = Bandwidth::gigabytes_per_second(gigabytes_per_second)};
  return cluster;
}

TimeOf taking(Duration push, Duration pull) {
  return [=](CollectiveKind kind, const std::string&, StepPhase) {
    return kind == CollectiveKind::reduce ? push : pull;
  };
}

Step served(const ParameterServer& scheme, Duration push = 30_us, Duration pull = 20_us,
            int accumulate = 1) {
  return run(scheme, taking(push, pull), accumulate, workers(2));
}

/// One server on a node of its own, so that pushes and pulls do not share links.
ParameterServer one_server(Pull pull = Pull::backward) {
  return {.servers = 1, .pull = pull, .colocated = false};
}

ParameterServer parts_of(double megabytes) {
  return {.placement = Placement::partitioned,
          .partition = Bytes(static_cast<std::int64_t>(megabytes * 1e6))};
}

Job served_job(const ParameterServer& scheme, const Cluster& cluster) {
  return Job(layered(), cluster, options(scheme), AnalyticModel{});
}

/// Number of bytes that each server holds.
std::vector<std::int64_t> held(const ParameterServer& scheme, int servers, const Workload& step) {
  const Job job(step, workers(servers), options(scheme), FreeModel{});
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(servers));
  for (const ServerPart& part : server_parts(job, scheme, servers))
    bytes[part.server] += part.bytes.count();
  return bytes;
}

}  // namespace

TEST_CASE("parameter_server: each gradient is pushed when it is written, then pulled") {
  const Step step = served(one_server());
  CHECK(on_the_wire(step) ==
        "\nreduce head.weight: 120 to 150"
        "\nbroadcast head.weight: 150 to 170"
        "\nreduce layers.2.linear.weight: 160 to 190"
        "\nbroadcast layers.2.linear.weight: 190 to 210"
        "\nreduce layers.1.linear.weight: 240 to 270"
        "\nbroadcast layers.1.linear.weight: 270 to 290"
        "\nreduce layers.0.linear.weight: 290 to 320"
        "\nbroadcast layers.0.linear.weight: 320 to 340"
        "\nreduce embed.weight: 320 to 350"
        "\nbroadcast embed.weight: 350 to 370");
  // The optimizer runs on the server.
  CHECK(
      differences(
          step, {.exposed_forward = 0, .exposed_backward = 70, .optimizer = 0, .iteration = 370}) ==
      "");
}

TEST_CASE("parameter_server: workers that step do so when all sums have arrived") {
  ParameterServer scheme = one_server();
  scheme.update = Update::worker;
  CHECK(differences(
            served(scheme),
            {.exposed_forward = 0, .exposed_backward = 70, .optimizer = 20, .iteration = 390}) ==
        "");
}

TEST_CASE("parameter_server: a step that begins with its pulls waits for each module's own") {
  // Embed waits from 0 to 20, layers.0 from 25 to 40. Backward runs from 135 to 335.
  const Step step = served(one_server(Pull::forward));
  CHECK(on_the_wire(step) ==
        "\nbroadcast embed.weight: 0 to 20"
        "\nbroadcast layers.0.linear.weight: 20 to 40"
        "\nbroadcast layers.1.linear.weight: 40 to 60"
        "\nbroadcast layers.2.linear.weight: 60 to 80"
        "\nbroadcast head.weight: 80 to 100"
        "\nreduce head.weight: 155 to 185"
        "\nreduce layers.2.linear.weight: 195 to 225"
        "\nreduce layers.1.linear.weight: 275 to 305"
        "\nreduce layers.0.linear.weight: 325 to 355"
        "\nreduce embed.weight: 355 to 385");
  CHECK(differences(
            step,
            {.exposed_forward = 35, .exposed_backward = 50, .optimizer = 0, .iteration = 385}) ==
        "");
}

TEST_CASE("parameter_server: with priority, forward starts while servers still answer") {
  // Times count from the start of backward. Embed is pulled by 270, and forward waits for it from
  // 200 on.
  const Step step = served(one_server(Pull::priority));
  CHECK(on_the_wire(step, 190_us) ==
        "\nreduce layers.0.linear.weight: 190 to 220"
        "\nbroadcast layers.0.linear.weight: 220 to 240"
        "\nreduce embed.weight: 220 to 250"
        "\nbroadcast embed.weight: 250 to 270");
  CHECK(
      differences(
          step, {.exposed_forward = 70, .exposed_backward = 0, .optimizer = 0, .iteration = 370}) ==
      "");
}

TEST_CASE("parameter_server: with priority, what forward reads first is pushed first") {
  // A push occupies the server's processor for 3 x 4 MB / 12 GB/s = 1 ms. All other gradients are
  // written in that time.
  const auto step_of = [](Pull pull) {
    ParameterServer scheme = one_server(pull);
    scheme.server_bandwidth = Bandwidth::gigabytes_per_second(12);
    SimulationOptions sgd = options(scheme);
    sgd.optimizer.kind = Optimizer::sgd;
    return simulate(Job(layered(), workers(2, 1, 1e6), sgd, AnalyticModel{})).step;
  };
  const auto pushes = [](const StepResult& step) {
    std::vector<std::pair<TimePoint, std::string>> starts;
    for (const CollectiveResult& one : step.collectives)
      if (one.kind == CollectiveKind::reduce) {
        CHECK(one.end - one.start == 1000_us);
        starts.emplace_back(one.start, one.unit.substr(0, one.unit.rfind(".weight")));
      }
    std::ranges::sort(starts);
    std::string text;
    for (const auto& [start, unit] : starts) text += unit + " ";
    return text;
  };
  const StepResult first = step_of(Pull::priority);
  CHECK(pushes(first) == "head embed layers.0.linear layers.1.linear layers.2.linear ");
  const StepResult waiting = step_of(Pull::backward);
  CHECK(pushes(waiting) == "head layers.2.linear layers.1.linear layers.0.linear embed ");
  CHECK(first.times.iteration < waiting.times.iteration);
}

TEST_CASE("parameter_server: links to several servers are shared, separately in each direction") {
  // The gradient of layers.0 goes to one server at 290, embed's to the other at 300. From then on
  // each gets half of the worker's link.
  ParameterServer two = one_server();
  two.servers = 2;
  const Step step = served(two);
  CHECK(on_the_wire(step, 290_us) ==
        "\nreduce layers.0.linear.weight: 290 to 340"
        "\nbroadcast layers.0.linear.weight: 340 to 370"
        "\nreduce embed.weight: 300 to 350"
        "\nbroadcast embed.weight: 350 to 380");
  CHECK(step.times.iteration == 380_us);
  // On workers' nodes, pushes and pulls share the link too.
  two.colocated = true;
  CHECK(served(two).times.iteration > 380_us);
}

TEST_CASE("parameter_server: the GPUs of a worker add up among themselves first") {
  const Step step = run(one_server(), by_the_table, 1, two_by_two());
  std::string of_embed;
  for (const CollectiveResult& one : step.collectives)
    if (one.unit == "embed.weight") of_embed += fmt::format("{} ", name_of(one.kind));
  CHECK(of_embed == "reduce-scatter reduce broadcast all-gather ");
  CHECK(step.collectives.size() == 20);
}

TEST_CASE("parameter_server: only the last micro-batch is pushed") {
  for (const Pull pull : {Pull::backward, Pull::forward, Pull::priority}) {
    const Step step = served(one_server(pull), 30_us, 20_us, 3);
    CHECK(step.collectives.size() == 10);
    CHECK(step.times.forward == 300_us);
    CHECK(step.times.backward == 600_us);
  }
}

TEST_CASE(
    "parameter_server: a worker pushes P and pulls P, however parameters are cut and spread") {
  for (const ParameterServer& scheme :
       {ParameterServer{}, one_server(), one_server(Pull::forward), one_server(Pull::priority),
        parts_of(4.096), parts_of(0.7)}) {
    const Step step = served(scheme);
    Bytes pushed;
    Bytes pulled;
    for (const CollectiveResult& one : step.collectives)
      (one.kind == CollectiveKind::reduce ? pushed : pulled) += one.bytes;
    CHECK(pushed == 20'000'000_B);
    CHECK(pulled == 20'000'000_B);
  }
}

TEST_CASE("parameter_server: whole tensors load servers unequally if one is large, parts do not") {
  Workload step = layered();
  step.parameters[1].shape = {{25'000, 1000}};  // 100 MB, the four others 4
  const std::vector<std::int64_t> whole = held(ParameterServer{}, 3, step);
  CHECK(whole == std::vector<std::int64_t>{8'000'000, 104'000'000, 4'000'000});
  const std::vector<std::int64_t> parts = held(parts_of(1), 3, step);
  CHECK(parts[0] + parts[1] + parts[2] == 116'000'000);
  CHECK(*std::ranges::max_element(parts) - *std::ranges::min_element(parts) <= 1'000'000);
}

TEST_CASE(
    "parameter_server: a server's processor adds up what each worker sends, to the picosecond") {
  ParameterServer scheme = one_server();
  scheme.update = Update::worker;
  scheme.server_bandwidth = Bandwidth::gigabytes_per_second(1);
  const Cluster cluster = workers(4);
  const ServerCosts costs(served_job(scheme, cluster), scheme);
  // Adding up 1 MB takes 1 ms; its link takes a little more than 0.1 ms per worker.
  const ServerCosts::Transfer push = costs.push(1'000'000_B);
  CHECK(push.transfer == 4000_us);
  const Bandwidth link = Bandwidth::gigabytes_per_second(10 * wire_share(LinkKind::nic, cluster));
  CHECK(push.volume == 1'000'000_B / link);
  CHECK(push.before - push.after == 1'000'000_B / GlooLinks().copy);  // a message each way
  CHECK(costs.pull(1'000'000_B).transfer == 4'000'000_B / link);      // its link to four of them
  // An optimizer step on the server reads and writes 3 + 2 x state numbers, counted in threes: SGD
  // 1, Adam 7/3.
  scheme.update = Update::server;
  SimulationOptions sgd = options(scheme);
  sgd.optimizer.kind = Optimizer::sgd;
  CHECK(ServerCosts(Job(layered(), cluster, sgd, AnalyticModel{}), scheme)
            .push(3'000'000_B)
            .transfer == 15'000_us);
  sgd.optimizer.kind = Optimizer::adam;
  CHECK(ServerCosts(Job(layered(), cluster, sgd, AnalyticModel{}), scheme)
            .push(3'000'000_B)
            .transfer == 19'000_us);
  // An asynchronous push is applied by itself: four times an addition and a step of SGD.
  scheme.mode = ParameterServer::Mode::async;
  sgd.optimizer.kind = Optimizer::sgd;
  CHECK(ServerCosts(Job(layered(), cluster, sgd, AnalyticModel{}), scheme)
            .push(3'000'000_B)
            .transfer == 24'000_us);
}

TEST_CASE("parameter_server: the limiting link carries W (P g + P p) / S") {
  ParameterServer fast = one_server();
  fast.server_bandwidth = Bandwidth::gigabytes_per_second(1e6);
  const Cluster cluster = workers(4);
  const Bandwidth link = Bandwidth::gigabytes_per_second(10 * wire_share(LinkKind::nic, cluster));
  const ServerCosts apart(served_job(fast, cluster), fast);
  CHECK(apart.push(1'000'000_B).transfer == 4'000'000_B / link);
  CHECK(apart.push(1'000'000_B).volume == 1'000'000_B / link);
  fast.colocated = true;  // its own node sends nothing
  const ServerCosts together(served_job(fast, cluster), fast);
  CHECK(together.push(1'000'000_B).transfer == 3'000'000_B / link);
  CHECK(together.pull(1'000'000_B).volume == 3'000'000_B / link);
  fast.servers = 4;
  const ServerCosts balanced(served_job(fast, cluster), fast);
  CHECK(balanced.push(1'000'000_B).volume == (1'000'000_B / link).scaled(0.75));
  CHECK(balanced.pull(1'000'000_B).volume == (1'000'000_B / link).scaled(0.75));
}

TEST_CASE("parameter_server: with the host as server every GPU sends gradients over PCIe") {
  ParameterServer host{.host = true, .update = Update::worker};
  host.server_bandwidth = Bandwidth::gigabytes_per_second(1);
  const ServerCosts costs(served_job(host, small::node(4)), host);
  CHECK(costs.workers() == 4);
  CHECK(costs.servers() == 1);
  CHECK(costs.push(1'000'000_B).transfer == 4000_us);
  CHECK(costs.pull(1'000'000_B).transfer == 1'000'000_B / GlooLinks().copy);
  CHECK(costs.push(1'000'000_B).before == Duration());
}

TEST_CASE("parameter_server: over gloo, transfers take the rates of its calibration") {
  ParameterServer scheme = one_server();
  scheme.update = Update::worker;
  scheme.server_bandwidth = 1000_GBps;
  const auto costs = [&](bool host_tensors) {
    const GlooModel gloo{
        .links = {.process = 2_GBps, .step = 7_us, .copy = 4_GBps, .host_tensors = host_tensors}};
    return ServerCosts(Job(layered(), workers(2), options(scheme), gloo), scheme);
  };
  // Two workers' 4 MB pass through one process. The copy from the GPU takes 1000 us before that.
  CHECK(costs(true).push(4'000'000_B).transfer == 4000_us);
  CHECK(costs(true).pull(4'000'000_B).transfer == 4000_us);
  CHECK(costs(true).push(4'000'000_B).before == 7_us);
  CHECK(costs(true).pull(4'000'000_B).after == Duration());
  CHECK(costs(false).push(4'000'000_B).before == 1007_us);
  CHECK(costs(false).pull(4'000'000_B).after == 1000_us);
}

TEST_CASE("parameter_server: faster servers, links and more servers make no step longer") {
  const auto iteration = [](const ParameterServer& scheme, const Cluster& cluster) {
    return simulate_times(served_job(scheme, cluster)).iteration;
  };
  for (const Pull pull : {Pull::backward, Pull::forward, Pull::priority}) {
    Duration before = Duration::max();
    for (const double rate : {0.5, 2.0, 8.0, 1e5}) {
      ParameterServer scheme = one_server(pull);
      scheme.server_bandwidth = Bandwidth::gigabytes_per_second(rate);
      const Duration now = iteration(scheme, workers(4));
      CHECK(now <= before);
      before = now;
    }
    before = Duration::max();
    for (const double rate : {0.5, 2.0, 8.0, 1e5}) {
      const Duration now = iteration(one_server(pull), workers(4, 1, rate));
      CHECK(now <= before);
      before = now;
    }
    before = Duration::max();
    for (const int servers : {1, 2, 4}) {
      ParameterServer scheme = parts_of(0.5);
      scheme.pull = pull;
      scheme.colocated = false;
      scheme.servers = servers;
      const Duration now = iteration(scheme, workers(4));
      CHECK(now <= before);
      before = now;
    }
    CHECK(simulate_times(Job(layered(), workers(4), options(one_server(pull)), FreeModel{}))
              .iteration == 300_us);
  }
}

TEST_CASE("parameter_server: a worker holds no optimizer state if the server steps") {
  ParameterServer scheme = one_server();
  const PeakMemory served = peak_memory(served_job(scheme, workers(2)));
  CHECK(served.parts.optimizer == Bytes());
  CHECK(served.nccl == Bytes());
  scheme.update = Update::worker;
  CHECK(peak_memory(served_job(scheme, workers(2))).parts.optimizer > Bytes());
}

TEST_CASE("parameter_server: asynchronous workers read parameters as stale as there are others") {
  for (const int nodes : {1, 2, 5}) {
    ParameterServer scheme = one_server();
    scheme.mode = ParameterServer::Mode::async;
    const SimulationResult result =
        simulate(Job(layered(), workers(nodes), options(scheme), FreeModel{}));
    REQUIRE(result.step.staleness);
    const Staleness& stale = *result.step.staleness;
    CHECK(stale.workers == nodes);
    CHECK(stale.mean == nodes - 1);
    CHECK(stale.p50 == nodes - 1);
    CHECK(stale.max == nodes - 1);
    CHECK(stale.updates_per_second == doctest::Approx(nodes / 300e-6).epsilon(0.02));
  }
  CHECK(!simulate(Job(layered(), workers(2), options(one_server()), FreeModel{})).step.staleness);
}

TEST_CASE("parameter_server: a straggler's updates are stale, but do not hold up others") {
  ParameterServer scheme = one_server();
  scheme.mode = ParameterServer::Mode::async;
  SimulationOptions all = options(scheme);
  all.variation.stragglers = {{.rank = 1, .slowdown = 4}};
  const SimulationResult result = simulate(Job(layered(), workers(2), all, FreeModel{}));
  CHECK(result.step.times.iteration == 300_us);
  const Staleness& stale = *result.step.staleness;
  CHECK(stale.max == 4);  // the straggler's
  CHECK(stale.p50 == 0);  // the others'
  CHECK(stale.updates_per_second == doctest::Approx(1 / 300e-6 + 1 / 1200e-6).epsilon(0.02));
  all.variation.jitter = 0.2;
  const auto again = [&] {
    return simulate(Job(layered(), workers(2), all, FreeModel{})).step.staleness->mean;
  };
  CHECK(again() == again());
}

TEST_CASE("parameter_server: settings that cannot be simulated are refused") {
  const auto why = [](const ParameterServer& scheme, const Cluster& cluster) {
    return cannot_simulate(Job(layered(), cluster, options(scheme), FreeModel{})).value_or("");
  };
  CHECK(why({.host = true}, workers(2)).find("servers=host") != std::string::npos);
  CHECK(why({.host = true}, small::node(2)) == "");
  CHECK(why({.servers = 3}, workers(2)).find("Add colocated=false") != std::string::npos);
  CHECK(why({.servers = 3, .colocated = false}, workers(2)) == "");
  CHECK(why({.servers = 2000, .colocated = false}, workers(2)).find("at most 1024") !=
        std::string::npos);
  CHECK(why({.update = Update::worker, .pull = Pull::forward}, workers(2)).find("pull=forward") !=
        std::string::npos);
  CHECK(why(parts_of(0.00001), workers(2)).find("partition_mb=") != std::string::npos);
  CHECK(why({}, workers(2, 2)).find("nodes differ") != std::string::npos);  // no known group
  CHECK(why({}, two_by_two()) == "");
}
