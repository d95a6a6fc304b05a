#include "ddpsim/topologies/background_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {
namespace {

using Kind = ValueType::Kind;

constexpr std::string_view kBackgroundSchema = "ddpsim.background/1";
constexpr std::int64_t kLargestBackground = 4 << 20;
constexpr std::size_t kMostLinks = 64;  ///< links of one transfer
constexpr std::int64_t kMostNodesAside = 4096;
constexpr Bytes kLargest = Bytes(std::int64_t{1} << 44);
constexpr Duration kLongestPeriod = Duration::seconds(1e5);
/// Shorter periods would make the simulation run forever.
constexpr Duration kShortestPeriod = Duration::microseconds(10);

constexpr const char* kFirst =
    "when it starts first, from the start of the step: \"5ms\"; 0 by default";
constexpr const char* kEvery =
    "time from one start to the next, at least 10 us: \"100ms\"; longer where the last has not "
    "ended; it runs once without it";

const ObjectType& job_type() {
  static const auto type =
      ObjectType("BackgroundJob", "another job, whose all-reduces share the network")
          .needs("nodes", list_of({Kind::integer}),
                 "numbers of its nodes, at least two; its rings pass all their GPUs in this order")
          .needs("all_reduce", {Kind::text}, "size of each of its all-reduces: \"64MiB\"")
          .may_have("first", {Kind::text}, kFirst)
          .may_have("every", {Kind::text}, kEvery);
  return type;
}

const ObjectType& transfer_type() {
  static const auto type =
      ObjectType("BackgroundTransfer", "bytes that others send over links of the cluster")
          .needs("links", list_of({Kind::text}),
                 "names of the links it passes, 64 at most, as `ddpsim topo` shows them")
          .needs("size", {Kind::text}, "how much is sent: \"1GiB\"")
          .may_have("rate", {Kind::text},
                    "the rate it is limited to: \"5GBps\"; by default the links alone limit it")
          .may_have("first", {Kind::text}, kFirst)
          .may_have("every", {Kind::text}, kEvery);
  return type;
}

struct JobEntry {
  std::vector<std::uint32_t> nodes;
  Bytes size;
  Repetition when;
};

struct TransferEntry {
  Cursor links;
  Bytes size;
  std::optional<Bandwidth> rate;
  Repetition when;
};

Bytes read_size(const Cursor& cursor) {
  const Bytes size = cursor.bytes();
  if (size < Bytes(1) || size > kLargest) cursor.fail("is out of range; expected 1 B to 16 TiB");
  return size;
}

Repetition read_when(const Object& entry) {
  Repetition when;
  if (const auto first = entry.optional("first")) {
    const Duration time = first->duration();
    if (time < Duration() || time > kLongestPeriod)
      first->fail("is out of range; expected 0 s to 100000 s after the start of the step");
    when.first = TimePoint(time);
  }
  if (const auto every = entry.optional("every")) {
    when.period = every->duration();
    if (when.period < kShortestPeriod || when.period > kLongestPeriod)
      every->fail("is out of range; expected 10 us to 100000 s");
  }
  return when;
}

JobEntry read_job(const Cursor& cursor) {
  const Object entry = cursor.object(job_type());
  JobEntry job;
  job.when = read_when(entry);
  if (const auto size = entry.optional("all_reduce")) job.size = read_size(*size);
  const Cursor nodes = entry.required("nodes");
  std::set<std::uint32_t> seen;
  for (const Cursor& node : nodes.array()) {
    const auto number = static_cast<std::uint32_t>(node.integer(0, kMostNodesAside - 1));
    if (!seen.insert(number).second) node.fail(fmt::format("node {} is named twice", number));
    job.nodes.push_back(number);
  }
  if (job.nodes.size() < 2)
    nodes.fail("names fewer than two nodes; a job on one node sends nothing over the network");
  read_size(entry.required("all_reduce"));
  return job;
}

TransferEntry read_transfer(const Cursor& cursor) {
  const Object entry = cursor.object(transfer_type());
  const auto rate = entry.optional("rate");
  const Repetition when = read_when(entry);
  if (const auto size = entry.optional("size")) read_size(*size);
  const Cursor links = entry.required("links");
  const std::size_t count = links.array().size();
  if (count < 1 || count > kMostLinks)
    links.fail(fmt::format("names {} links; expected 1 to {}", count, kMostLinks));
  return {.links = links,
          .size = read_size(entry.required("size")),
          .rate = rate ? std::optional(rate->bandwidth()) : std::nullopt,
          .when = when};
}

/// Throws InputError if the flow network would take minutes.
void require_few(const Object& fields, const std::vector<JobEntry>& jobs,
                 const std::vector<TransferEntry>& transfers) {
  const auto refuse = [&](const char* key, std::size_t given, const char* of, std::size_t most) {
    fields.required(key).fail(fmt::format("has {} {}, and the limit is {}", given, of, most),
                              "Leave out those that send least");
  };
  std::size_t nodes = 0;
  for (const JobEntry& job : jobs) nodes += job.nodes.size();
  if (jobs.size() > kMostBackgroundJobs) refuse("jobs", jobs.size(), "jobs", kMostBackgroundJobs);
  if (nodes > kMostBackgroundNodes)
    refuse("jobs", nodes, "nodes in all jobs together", kMostBackgroundNodes);
  if (transfers.size() > kMostBackgroundTransfers)
    refuse("transfers", transfers.size(), "transfers", kMostBackgroundTransfers);
}

class LinkNames {
 public:
  explicit LinkNames(const Fabric& fabric) {
    for (LinkId link = 0; link < fabric.links.size(); ++link)
      by_name_.emplace(fabric.links[link].name, link);
  }
  LinkId find(const Cursor& cursor) const {
    const std::string name = cursor.string();
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, link] : by_name_) names.push_back(known);
    cursor.fail("there is no link " + in_quotes(name),
                did_you_mean(name, names, "`ddpsim topo` names the links of a cluster"));
  }

 private:
  std::map<std::string, LinkId> by_name_;
};

std::vector<LinkId> read_links(const TransferEntry& entry, const LinkNames& names) {
  std::vector<LinkId> links;
  for (const Cursor& name : entry.links.array()) {
    links.push_back(names.find(name));
    if (std::count(links.begin(), links.end(), links.back()) > 1)
      name.fail("the link is named twice");
  }
  return links;
}

/// The request for the cluster with this number of nodes, which replaces any number at the end of
/// its name (dgx1v@2).
ClusterRequest grown(ClusterRequest request, int nodes) {
  if (const std::size_t at = request.text.rfind('@');
      at != std::string::npos &&
      request.text.find_first_not_of("0123456789", at + 1) == std::string::npos)
    request.text.resize(at);
  request.nodes = nodes;
  return request;
}

/// Adds routes for the rings of another job to `fabric`, which has the same links.
std::vector<RingChannel> add_rings(const Topology& topology, const JobEntry& job, Fabric& fabric) {
  Fabric other = build_fabric(topology, job.nodes);
  const auto shift = static_cast<std::uint32_t>(fabric.route_links.size());
  fabric.route_links.insert(fabric.route_links.end(), other.route_links.begin(),
                            other.route_links.end());
  for (RingChannel& ring : other.rings)
    for (Route& route : ring.to_next) route.first += shift;
  return std::move(other.rings);
}

}  // namespace

const ObjectType& background_document() {
  static const auto type =
      ObjectType("Background", "what others send over the links of a cluster while the job runs")
          .needs("schema", word_of({std::string(kBackgroundSchema)}), "which document this is")
          .may_have("jobs", list_of(object_of(job_type())), "other jobs on the cluster's network")
          .may_have("transfers", list_of(object_of(transfer_type())),
                    "single transfers over named links");
  return type;
}

SharedFabric parse_background(std::string_view text, const std::string& file,
                              const ClusterRequest& request) {
  const Document document = Document::parse(text, file);
  const Cursor root = document.root();
  const auto schema = root.free_object().optional("schema");
  if (!schema)
    root.fail(fmt::format("missing \"schema\"; expected \"schema\": \"{}\"", kBackgroundSchema));
  if (schema->string() != kBackgroundSchema)
    schema->fail(fmt::format("{} is not background traffic; expected \"{}\"",
                             in_quotes(schema->string()), kBackgroundSchema));
  const Object fields = root.object(background_document());
  std::vector<JobEntry> jobs;
  std::vector<TransferEntry> transfers;
  if (const auto list = fields.optional("jobs"))
    for (const Cursor& entry : list->array()) jobs.push_back(read_job(entry));
  if (const auto list = fields.optional("transfers"))
    for (const Cursor& entry : list->array()) transfers.push_back(read_transfer(entry));
  require_few(fields, jobs, transfers);

  const Cluster cluster = load_cluster(request);
  const int own_nodes = cluster.nodes;
  int nodes = own_nodes;
  for (const JobEntry& job : jobs)
    nodes = std::max(nodes, static_cast<int>(std::ranges::max(job.nodes)) + 1);
  const Topology topology =
      load_topology(nodes > own_nodes ? grown(request, nodes * cluster.hosts_per_node) : request);
  if (topology.cluster.nodes < nodes)
    root.fail("names other NVLink domains than the job's, which fills a part of one",
              fmt::format("Make the domains as large as that part: \"domain:{}\"",
                          cluster.hosts_per_node));
  std::vector<std::uint32_t> own(static_cast<std::size_t>(own_nodes));
  std::iota(own.begin(), own.end(), 0U);
  SharedFabric shared{.fabric = build_fabric(topology, own), .background = {}};
  for (const JobEntry& job : jobs)
    shared.background.jobs.push_back(
        {.rings = add_rings(topology, job, shared.fabric), .size = job.size, .when = job.when});
  const LinkNames names(shared.fabric);
  for (const TransferEntry& entry : transfers) {
    BackgroundTransfer transfer{.links = read_links(entry, names), .size = entry.size};
    if (entry.rate) transfer.rate = *entry.rate;
    transfer.when = entry.when;
    shared.background.transfers.push_back(std::move(transfer));
  }
  return shared;
}

SharedFabric load_background(const std::string& path, const ClusterRequest& request) {
  return parse_background(read_file(path, kLargestBackground), path, request);
}

}  // namespace ddpsim
