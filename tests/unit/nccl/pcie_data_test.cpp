// Compares GPUs connected only by PCIe with the open logs of such machines. The share of a slot
// that reaches the next GPU is learned from the other machines whose peers reach each other in the
// same way. Then each log is predicted.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "more_logs.hpp"

using namespace ddpsim;
using open_logs::PcieLog;

namespace {

constexpr std::int64_t kFromMiB = 1 << 20;

struct PcieData {
  PcieLog about;
  MeasuredLog log;
  double rate = 0;  ///< GB/s of bus bandwidth, median from 128 MiB

  /// Nominal rate of a GPU's way to its peers.
  double nominal() const {
    const Interconnect& intra = about.cluster.intra;
    return (through_host() ? intra.to_host : intra.per_gpu).gigabytes_per_second();
  }
  bool through_host() const { return about.cluster.intra.peers == PeerAccess::host; }
  /// Whether every byte uses a GPU's slot only once on its way to the next.
  bool direct() const { return about.cluster.intra.peers == PeerAccess::one_root; }
};

double wire_bytes(const Cluster& cluster) {
  const double ranks = cluster.ranks();
  return 2 * (ranks - 1) / ranks;
}

MeasuredLog stated_log(const PcieLog& about) {
  MeasuredLog log;
  log.nodes = about.cluster.nodes;
  log.gpus_per_node = about.cluster.gpus_per_node;
  log.ranks = about.cluster.ranks();
  const std::int64_t size = std::int64_t{1} << 30;
  log.points.push_back(
      {.size = Bytes(size),
       .time_us = wire_bytes(about.cluster) * static_cast<double>(size) / about.stated_gbps / 1e3});
  return log;
}

std::vector<PcieData> read_pcie_logs() {
  std::vector<PcieData> all;
  for (const PcieLog& about : open_logs::over_pcie()) {
    const std::filesystem::path path = files::shared_file(about.folder + "/" + about.slug + ".txt");
    const bool table = !about.folder.empty();
    if (table && !std::filesystem::exists(path)) return {};
    const JobShape shape{about.cluster.nodes, about.cluster.gpus_per_node};
    PcieData data{about, table ? read_nccl_tests_log(path, shape) : stated_log(about)};
    data.log.nccl = parse_nccl_version(about.nccl);
    std::vector<double> rates;
    for (const MeasuredPoint& point : data.log.points)
      if (point.size.count() >= 128 * kFromMiB)
        rates.push_back(wire_bytes(about.cluster) * static_cast<double>(point.size.count()) /
                        point.time_us / 1e3);
    data.rate = median(rates);
    all.push_back(std::move(data));
  }
  return all;
}

double average(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Logarithms of the share reached by each other machine of the same kind: peer to peer under one
/// root, or through host memory.
std::vector<double> shares_of_others(const std::vector<PcieData>& all, const PcieData& out) {
  std::vector<std::string> machines;
  for (const PcieData& one : all) machines.push_back(one.about.machine);
  std::sort(machines.begin(), machines.end());
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  std::vector<double> logs;
  for (const std::string& machine : machines) {
    if (machine == out.about.machine) continue;
    std::vector<double> of_machine;
    for (const PcieData& one : all)
      if (one.about.machine == machine && one.direct() == out.direct())
        of_machine.push_back(std::log(one.rate / one.nominal()));
    if (!of_machine.empty()) logs.push_back(average(of_machine));
  }
  return logs;
}

/// Geometric mean over the other machines. If there are none, the share that PCIe's headers leave.
double learned_share(const std::vector<PcieData>& all, const PcieData& out) {
  const std::vector<double> logs = shares_of_others(all, out);
  constexpr double kHeaders = 0.85;
  return logs.empty() ? kHeaders : std::exp(average(logs));
}

Cluster with_share(Cluster cluster, double share) {
  const Interconnect& intra = cluster.intra;
  if (intra.peers == PeerAccess::host) share *= intra.to_host / intra.per_gpu;
  Calibration calibration{.constants = constants_of(cluster)};
  calibration.constants.local_share = share;
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  return cluster;
}

/// The former model, without slots: 3.6 GB/s through host memory.
Cluster as_before(const PcieLog& about) {
  constexpr double kHostMemory = 3.6;
  const Interconnect& intra = about.cluster.intra;
  if (intra.peers != PeerAccess::host) return about.cluster;
  return with_share(about.cluster, kHostMemory / intra.to_host.gigabytes_per_second());
}

double predicted_us(const Cluster& cluster, Bytes size, const PcieLog& about) {
  CollectiveTuning tuning = about.tuning();
  constexpr int kStatedChannels = 8;
  if (about.stated_gbps > 0) tuning.min_channels = kStatedChannels;
  const auto choice = select_algorithm(CollectiveKind::all_reduce, size, cluster, tuning);
  return cost(CollectiveKind::all_reduce, choice, size, cluster).microseconds();
}

struct PcieErrors {
  std::vector<double> of;
  std::vector<double> signed_log;

  void add(double predicted, double measured) {
    of.push_back(std::abs(predicted / measured - 1));
    signed_log.push_back(predicted / measured);
  }
  std::string text() const {
    return fmt::format("{:6.1f} {:6.1f} {:6.1f} ({:4.2f})", 100 * median(of),
                       100 * quantile(of, 0.9), 100 * *std::max_element(of.begin(), of.end()),
                       median(signed_log));
  }
};

}  // namespace

TEST_CASE("PCIe: each machine left out, with its roots and peers as its page states them") {
  const std::vector<PcieData> all = read_pcie_logs();
  if (all.empty()) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::string text;
  PcieErrors bar[4];
  PcieErrors any[4];
  for (const PcieData& data : all) {
    const PcieLog& about = data.about;
    const Cluster left_out = with_share(about.cluster, learned_share(all, data));
    const Cluster before = as_before(about);
    PcieErrors mine[4];
    for (const MeasuredPoint& point : data.log.points) {
      if (point.size.count() < kFromMiB) continue;
      const double predicted[4] = {predicted_us(left_out, point.size, about),
                                   predicted_us(about.cluster, point.size, about),
                                   predicted_us(before, point.size, about),
                                   open_logs::constant_efficiency_us(about.cluster, point.size)};
      for (std::size_t i = 0; i < 4; ++i) mine[i].add(predicted[i], point.time_us);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      any[i].add(median(mine[i].signed_log), 1);
      if (about.healthy) bar[i].add(median(mine[i].signed_log), 1);
    }
    text += fmt::format("{:32} {:5.2f} GB/s {}  left out {}  learned {}  before {}  constant {}\n",
                        about.slug, data.rate, about.healthy ? "healthy" : "-      ",
                        mine[0].text(), mine[1].text(), mine[2].text(), mine[3].text());
    INFO(about.slug);
    if (about.healthy) CHECK(median(mine[0].of) < 0.30);
  }
  MESSAGE("from 1 MiB: median, 90th percentile, worst in % (median of predicted / measured)\n"
          << text << "medians of logs, healthy: left out " << bar[0].text() << "  learned "
          << bar[1].text() << "  before " << bar[2].text() << "  constant " << bar[3].text()
          << "\nmedians of logs, all:     left out " << any[0].text() << "  learned "
          << any[1].text() << "  before " << any[2].text() << "  constant " << any[3].text());
  CHECK(median(any[0].of) < 0.30);
  CHECK(median(any[0].of) < median(any[2].of));
  CHECK(median(any[0].of) < median(any[3].of));
}

namespace {

/// An 80 % interval for one more machine, around 1, widened by half because machines are few.
Band band_of_shares(const std::vector<double>& logs) {
  const double middle = average(logs);
  double squares = 0;
  for (const double one : logs) squares += (one - middle) * (one - middle);
  const auto count = static_cast<double>(logs.size());
  // Student's t of seven machines, with their mean's own error.
  constexpr double k80PercentSigmas = 1.54;
  constexpr double kFew = 1.5;  // as for networks with few families
  const double half = kFew * k80PercentSigmas * std::sqrt(squares / (count - 1));
  return {std::exp(-half), std::exp(half)};
}

/// How one log compares with the prediction made without its machine.
struct PcieInterval {
  double centre = 0;  ///< median of predicted over measured, from 1 MiB
  double held = 0;    ///< share of sizes from 1 MiB within
  double width = 0;   ///< slow over fast end, largest size
};

PcieInterval interval_of(const PcieData& data, const Cluster& centre, const Band& band,
                         PeerEnds ends) {
  // The errors are independent.
  const double fastest = std::exp(-std::hypot(std::log(band.faster), std::log(ends.fastest)));
  const double slowest = std::exp(std::hypot(std::log(band.slower), std::log(ends.slowest)));
  std::vector<double> ratios;
  PcieInterval out;
  for (const MeasuredPoint& point : data.log.points) {
    if (point.size.count() < kFromMiB) continue;
    const double predicted = predicted_us(centre, point.size, data.about);
    ratios.push_back(predicted / point.time_us);
    const bool inside =
        predicted * fastest <= point.time_us && point.time_us <= predicted * slowest;
    out.held += inside ? 1 : 0;
  }
  out.held /= static_cast<double>(ratios.size());
  out.centre = median(ratios);
  out.width = slowest / fastest;
  return out;
}

struct HeldMachines {
  std::set<std::string> out, far, all;

  void add(const std::string& machine, const PcieInterval& interval) {
    constexpr double kMostOutside = 0.2;
    all.insert(machine);
    if (interval.held < 1 - kMostOutside) out.insert(machine);
    if (interval.centre > 2 || interval.centre < 0.5) far.insert(machine);
  }
  std::string text() const {
    return fmt::format(
        "{} of {} machines inside (not {}); centre within a factor of two: {} (not {})",
        all.size() - out.size(), all.size(), fmt::join(out, ", "), all.size() - far.size(),
        fmt::join(far, ", "));
  }
};

}  // namespace

TEST_CASE("PCIe: the interval holds all machines except one, with known or unknown properties") {
  const std::vector<PcieData> all = read_pcie_logs();
  if (all.empty()) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::string text;
  HeldMachines said, unsaid;
  for (const PcieData& data : all) {
    PcieData host = data;
    host.about.cluster.intra.peers = PeerAccess::host;
    const std::vector<double> others = shares_of_others(all, host);
    const double middle = average(others);
    const Band band = band_of_shares(others);
    const PcieLog& about = data.about;
    const Cluster centre = with_share(about.cluster, learned_share(all, data));
    const PcieInterval one = interval_of(data, centre, band, peer_ends(about.cluster));
    said.add(about.machine, one);
    const Cluster plain = parse_cluster_line(about.plain);
    const PcieInterval two =
        interval_of(data, with_share(plain, std::exp(middle)), band, peer_ends(plain));
    unsaid.add(about.machine, two);
    text += fmt::format(
        "{:32} said: {:5.2f} times measured, held {:3.0f} %, {:4.1f} wide; unsaid: {:5.2f} times, "
        "held {:3.0f} %, {:4.1f} wide\n",
        about.slug, one.centre, 100 * one.held, one.width, two.centre, 100 * two.held, two.width);
  }
  PcieLog none = all.front().about;
  none.machine = "none";
  const std::vector<double> shares = shares_of_others(all, {none, {}, 0});
  const Band band = band_of_shares(shares);
  const double learned =
      constants_of(parse_cluster_line("node:1 gpu:2xA100 pcie:31.5GBps:p2p-sockets")).local_share;
  const double off = learned / std::exp(average(shares));
  text += fmt::format(
      "share of a slot by all machines {:.3f}; time over the cost model's {:.2f} to {:.2f}\n",
      std::exp(average(shares)), off * band.faster, off * band.slower);
  MESSAGE(text << "said:   " << said.text() << "\nunsaid: " << unsaid.text());
  CHECK(said.out.size() <= 1);
  CHECK(said.far.size() <= 1);
  CHECK(unsaid.out.size() <= 1);
}

namespace {

/// Measured over predicted times of one log, without its machine. `fixed` and `bandwidth` are
/// defined as in uncertainty.cpp.
struct PcieRatios {
  std::string machine;
  std::vector<double> small, middle, large, fixed;
  std::vector<double> bandwidth;
};

PcieRatios ratios_of(const PcieData& data, const Cluster& cluster) {
  PcieRatios out{data.about.machine, {}, {}, {}, {}, {}};
  const auto model = [&](std::int64_t size) {
    return predicted_us(cluster, Bytes(size), data.about);
  };
  const double us_per_byte = (model(std::int64_t{8} << 30) - model(std::int64_t{4} << 30)) /
                             static_cast<double>(std::int64_t{4} << 30);
  double least = std::numeric_limits<double>::infinity();
  for (const MeasuredPoint& point : data.log.points) {
    const std::int64_t size = point.size.count();
    (size < (1 << 16)  ? out.small
     : size < kFromMiB ? out.middle
                       : out.large)
        .push_back(point.time_us / model(size));
    if (size >= 128 * kFromMiB)
      least = std::min(least, point.time_us / (us_per_byte * static_cast<double>(size)));
  }
  out.bandwidth = {least};
  for (const MeasuredPoint& point : data.log.points) {
    const std::int64_t size = point.size.count();
    const double moved = us_per_byte * static_cast<double>(size);
    if (size >= kFromMiB && size <= 64 * kFromMiB)
      out.fixed.push_back((point.time_us - moved * least) / (model(size) - moved));
  }
  return out;
}

/// An 80 % interval for one more machine of the same kind.
Band band_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double last = static_cast<double>(values.size()) - 1;
    const double place = std::clamp(share * (last + 2) - 1, 0.0, last);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
  };
  return {at(0.1), at(0.9)};
}

Band range_of(std::vector<double> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, *most};
}

}  // namespace

TEST_CASE("PCIe: the intervals of uncertainty.cpp, and how often those of other machines held") {
  const std::vector<PcieData> all = read_pcie_logs();
  if (all.empty()) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::vector<PcieRatios> logs;
  for (const PcieData& data : all)
    if (data.about.cluster.nodes == 1 && !data.about.folder.empty())
      logs.push_back(ratios_of(data, with_share(data.about.cluster, learned_share(all, data))));
  std::string text;
  const auto show = [&](const char* name, std::vector<double> PcieRatios::*part) {
    const auto values = [&](const std::string& without) {
      std::vector<double> out;
      for (const PcieRatios& log : logs)
        if (log.machine != without) out.insert(out.end(), (log.*part).begin(), (log.*part).end());
      return out;
    };
    text += fmt::format("{:10}", name);
    for (const auto& band : {band_of, range_of}) {
      double held = 0;
      double sizes = 0;
      for (const PcieRatios& log : logs) {
        const Band others = band(values(log.machine));
        for (const double ratio : log.*part) {
          held += ratio >= others.faster && ratio <= others.slower ? 1 : 0;
          ++sizes;
        }
      }
      const Band of_all = band(values(""));
      text += fmt::format(" {:5.2f} to {:5.2f}, of the others held {:3.0f} % of {:3};",
                          of_all.faster, of_all.slower, 100 * held / sizes, sizes);
    }
    text += "\n";
  };
  show("small", &PcieRatios::small);
  show("middle", &PcieRatios::middle);
  show("large", &PcieRatios::large);
  show("fixed", &PcieRatios::fixed);
  show("bandwidth", &PcieRatios::bandwidth);
  MESSAGE(logs.size() << " logs of PCIe nodes: four in five; all\n" << text);
}

TEST_CASE("PCIe: calibrated from the smallest and three large sizes of its own log") {
  const std::vector<PcieData> all = read_pcie_logs();
  if (all.empty()) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::string text;
  for (const PcieData& data : all) {
    if (data.about.folder.empty()) continue;
    std::vector<MeasuredPoint> large;
    for (const MeasuredPoint& point : data.log.points)
      if (point.size.count() >= kFromMiB) large.push_back(point);
    MeasuredLog three = data.log;
    // A fit needs a fourth size.
    three.points = {data.log.points.front(), large.front(), large[large.size() / 2], large.back()};
    const Cluster& plain = data.about.cluster;
    const Fit fit = fit_calibration({three}, [&](JobShape) { return plain; },
                                    {.nccl = *data.log.nccl, .keep_unhealthy = true});
    Cluster cluster = plain;
    cluster.calibration = std::make_shared<const Calibration>(fit.calibration);
    PcieErrors errors;
    for (const MeasuredPoint& point : large)
      if (std::none_of(three.points.begin(), three.points.end(),
                       [&](const MeasuredPoint& own) { return own.size == point.size; }))
        errors.add(predicted_us(cluster, point.size, data.about), point.time_us);
    text += fmt::format("{:32} {}\n", data.about.slug, errors.text());
    INFO(data.about.slug);
    if (data.about.healthy) CHECK(median(errors.of) < 0.10);
  }
  MESSAGE("sizes between, from 1 MiB: median, 90th percentile, worst in %\n" << text);
}
