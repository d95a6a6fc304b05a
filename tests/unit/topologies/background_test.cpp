#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/topology.hpp"

using namespace ddpsim;

namespace {

const ClusterRequest kCluster{.text = "node:4 gpu:2xV100 nvswitch:150GBps nic:1x100Gbps:ib"};

SharedFabric parse(const std::string& text) {
  return parse_background(text, "others.json", kCluster);
}

std::string background(const std::string& entries) {
  return R"({"schema":"ddpsim.background/1",)" + entries + "}";
}

std::string problem_of(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("background: a job on other nodes shares the network but none of our ports") {
  const SharedFabric shared = parse(
      background(R"("jobs":[{"nodes":[4,6],"all_reduce":"100MiB","first":"2ms","every":"50ms"}])"));
  REQUIRE(shared.background.jobs.size() == 1);
  const BackgroundJob& job = shared.background.jobs[0];
  CHECK(job.size == Bytes(100 << 20));
  CHECK(job.when.first == TimePoint(Duration::milliseconds(2)));
  CHECK(job.when.period == Duration::milliseconds(50));
  // Our rings are over four nodes. The other job's are over two nodes of two GPUs.
  const Fabric ours = build_fabric(kCluster);
  REQUIRE(shared.fabric.rings.size() == ours.rings.size());
  CHECK(shared.fabric.rings[0].ranks == ours.rings[0].ranks);
  CHECK(job.rings.front().ranks.size() == 4);
  std::set<std::string> passed;
  for (const Route& route : job.rings.front().to_next)
    for (const LinkId link : shared.fabric.links_of(route))
      passed.insert(shared.fabric.links[link].name);
  const auto on_node = [&](const std::string& node) {
    return std::any_of(passed.begin(), passed.end(), [&](const std::string& name) {
      return name.find(node + "/") != std::string::npos;
    });
  };
  CHECK(on_node("node4"));
  CHECK(on_node("node6"));
  for (const char* other : {"node0", "node1", "node2", "node3", "node5"})
    CHECK_FALSE(on_node(other));
}

TEST_CASE("background: transfers name their links") {
  const Fabric fabric = build_fabric(kCluster);
  const std::string name = fabric.links[3].name;
  const SharedFabric shared = parse(
      background(R"("transfers":[{"links":[")" + name + R"("],"size":"1GiB","rate":"5GBps"}])"));
  REQUIRE(shared.background.transfers.size() == 1);
  CHECK(shared.background.transfers[0].links == std::vector<LinkId>{3});
  CHECK(shared.background.transfers[0].rate == Bandwidth::gigabytes_per_second(5));
  CHECK(shared.background.transfers[0].when.period == Duration());
}

TEST_CASE("background: a wrong file gets a message and a hint") {
  const std::string name = build_fabric(kCluster).links[0].name;
  const auto job = [](const std::string& fields) {
    return background("\"jobs\":[{" + fields + "}]");
  };
  const auto transfer = [](const std::string& fields) {
    return background("\"transfers\":[{" + fields + "}]");
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "others.json"},
      {"[]", "others.json"},
      {"{}", "missing \"schema\""},
      {R"({"schema":"ddpsim.cluster/1"})", "is not background traffic"},
      {background(R"("job":[])"), "Did you mean \"jobs\""},
      {job(R"("nodes":[0,1])"), "all_reduce"},
      {job(R"("all_reduce":"1MiB")"), "nodes"},
      {job(R"("nodes":[5],"all_reduce":"1MiB")"), "fewer than two nodes"},
      {job(R"("nodes":[5,5],"all_reduce":"1MiB")"), "named twice"},
      {job(R"("nodes":[5,-1],"all_reduce":"1MiB")"), "/jobs/0/nodes/1"},
      {job(R"("nodes":[5,65535],"all_reduce":"1MiB")"), "/jobs/0/nodes/1"},
      {job(R"("nodes":[4,5],"all_reduce":"1GBps")"), "is a rate"},
      {job(R"("nodes":[4,5],"all_reduce":"0B")"), "out of range"},
      {job(R"("nodes":[4,5],"all_reduce":"1MiB","every":"1us")"), "10 us"},
      {job(R"("nodes":[4,5],"all_reduce":"1MiB","first":"-1ms")"), "first"},
      {transfer(R"("links":[],"size":"1MiB")"), "0 links"},
      {transfer(R"("links":["nowhere"],"size":"1MiB")"), "there is no link \"nowhere\""},
      {transfer("\"links\":[\"" + name + "\",\"" + name + R"("],"size":"1MiB")"), "named twice"},
      {transfer("\"links\":[\"" + name.substr(0, name.size() - 1) + R"("],"size":"1MiB")"),
       "Did you mean \"" + name},
      {transfer("\"links\":[\"" + name + R"("],"size":"1MiB","rate":"0GBps")"), "rate"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string& given = text;  // clang 14 cannot capture the binding itself
    INFO(given);
    const std::string problem = problem_of(text);
    INFO(problem);
    CHECK(problem.find(expected) != std::string::npos);
  }
}

TEST_CASE("background: too much traffic is refused with the amount and the limit") {
  const auto repeated = [](std::size_t count, const std::string& entry) {
    std::string text;
    for (std::size_t k = 0; k < count; ++k) text += (k > 0 ? "," : "") + entry;
    return text;
  };
  const auto jobs = [&](std::size_t count, const std::string& nodes) {
    return problem_of(background(
        "\"jobs\":[" + repeated(count, R"({"nodes":[)" + nodes + R"(],"all_reduce":"1B"})") + "]"));
  };
  const std::string remedy = "Leave out those that send least";
  CHECK(jobs(10, "0,1") == "accepted");
  CHECK(jobs(11, "0,1") == "others.json:/jobs: has 11 jobs, and the limit is 10. " + remedy);
  const auto counted = [](int nodes) {
    std::string text;
    for (int node = 0; node < nodes; ++node) text += (node > 0 ? "," : "") + std::to_string(node);
    return text;
  };
  CHECK(jobs(1, counted(256)) == "accepted");
  CHECK(jobs(1, counted(257)) ==
        "others.json:/jobs: has 257 nodes in all jobs together, and the limit is 256. " + remedy);
  const std::string name = build_fabric(kCluster).links[0].name;
  const auto transfers = [&](std::size_t count) {
    return problem_of(background(
        "\"transfers\":[" + repeated(count, R"({"links":[")" + name + R"("],"size":"1B"})") + "]"));
  };
  CHECK(transfers(1000) == "accepted");
  CHECK(transfers(1001) ==
        "others.json:/transfers: has 1001 transfers, and the limit is 1000. " + remedy);
}

TEST_CASE("background: a wrong value is reported before a missing field") {
  CHECK(problem_of(background(R"("jobs":[{"all_reduce":"0B"}])")).find("/all_reduce: is out of") !=
        std::string::npos);
  CHECK(problem_of(background(R"("jobs":[{"every":"1us"}])")).find("/every: is out of range") !=
        std::string::npos);
  CHECK(problem_of(background(R"("transfers":[{"size":"0B"}])")).find("/size: is out of range") !=
        std::string::npos);
}

TEST_CASE("background: every value is read, and missing ones have defaults") {
  const std::string name = build_fabric(kCluster).links[2].name;
  const std::string other = build_fabric(kCluster).links[5].name;
  const SharedFabric shared = parse(
      background(R"("transfers":[{"links":[")" + name + R"(",")" + other +
                 R"("],"size":"3MiB","rate":"2GBps","first":"4ms","every":"50us"},{"links":[")" +
                 name + R"("],"size":"1B"}],"jobs":[{"nodes":[1,0],"all_reduce":"7MiB"}])"));
  REQUIRE(shared.background.transfers.size() == 2);
  const BackgroundTransfer& first = shared.background.transfers[0];
  CHECK(first.links == std::vector<LinkId>{2, 5});
  CHECK(first.size == Bytes(3 << 20));
  CHECK(first.rate == Bandwidth::gigabytes_per_second(2));
  CHECK(first.when.first == TimePoint(Duration::milliseconds(4)));
  CHECK(first.when.period == Duration::microseconds(50));
  const BackgroundTransfer& second = shared.background.transfers[1];
  CHECK(second.size == Bytes(1));
  CHECK(second.rate == Bandwidth::bytes_per_second(1e18));
  CHECK(second.when.first == TimePoint());
  CHECK(second.when.period == Duration());
  // A job on our own nodes, in its stated order, adds no nodes.
  REQUIRE(shared.background.jobs.size() == 1);
  const BackgroundJob& job = shared.background.jobs[0];
  CHECK(job.size == Bytes(7 << 20));
  CHECK(job.when.period == Duration());
  CHECK(shared.fabric.links.size() == build_fabric(kCluster).links.size());
  const auto starts_on = [&](const RingChannel& ring, const std::string& node) {
    const LinkId link = shared.fabric.links_of(ring.to_next[0])[0];
    return shared.fabric.links[link].name.find(node + "/") == 0;
  };
  CHECK(starts_on(job.rings[0], "node1"));
  CHECK(starts_on(shared.fabric.rings[0], "node0"));
}

TEST_CASE("background: nodes beyond the cluster's size are added") {
  const ClusterRequest named{.text = "dgx1v@2"};
  const std::string text = background(R"("jobs":[{"nodes":[1,4],"all_reduce":"1MiB"}])");
  const SharedFabric shared = parse_background(text, "others.json", named);
  CHECK(shared.fabric.rings[0].ranks.size() == 16);
  const auto on = [&](const std::string& node) {
    return std::any_of(shared.fabric.links.begin(), shared.fabric.links.end(),
                       [&](const Link& link) { return link.name.find(node + "/") == 0; });
  };
  CHECK(on("node4"));
  CHECK_FALSE(on("node5"));
}

TEST_CASE("background: the limits of each value") {
  const auto with = [](const std::string& fields) {
    return problem_of(background(R"("jobs":[{"nodes":[0,1],)" + fields + "}]"));
  };
  CHECK(with(R"("all_reduce":"1B","every":"10us")") == "accepted");
  CHECK(with(R"("all_reduce":"1B","every":"9.9us")").find("every") != std::string::npos);
  CHECK(
      problem_of(background(R"("jobs":[{"nodes":[0,4096],"all_reduce":"1B"}])")).find("nodes/1") !=
      std::string::npos);
  CHECK(with(R"("all_reduce":"16384GiB")") == "accepted");
  CHECK(with(R"("all_reduce":"16385GiB")").find("out of range") != std::string::npos);
  CHECK(with(R"("all_reduce":"1B","first":"0ms")") == "accepted");
  CHECK(with(R"("all_reduce":"1B","first":"100000s","every":"100000s")") == "accepted");
  CHECK(with(R"("all_reduce":"1B","first":"100001s")").find("first") != std::string::npos);
  CHECK(with(R"("all_reduce":"1B","every":"100001s")").find("every") != std::string::npos);
}
