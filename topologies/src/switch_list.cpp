#include "switch_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/words.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostNames = 65'536;
constexpr std::size_t kMostSwitches = 16'384;

class SwitchListReader {
 public:
  SwitchListReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  SwitchPlan read() {
    plan_.kind = SwitchPlan::Kind::stated;
    for (std::string_view rest = text_; !rest.empty();) {
      ++line_;
      const std::string_view line = take_line(rest);
      read_line(line.substr(0, line.find('#')));
    }
    place_rows();
    if (plan_.hosts.empty()) {
      fail("", "no node is named",
           "Expected a line per node, \"HOST SWITCH\", or Slurm's \"SwitchName=leaf1 "
           "Nodes=n[1-16]\"");
    }
    check_above();
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail(std::string where, std::string message, Hint hint = {}) const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }
  [[noreturn]] void fail_here(std::string message, Hint hint = {}) const {
    fail(fmt::format("line {}", line_), std::move(message), std::move(hint));
  }

  void read_line(std::string_view line) {
    const Words words = words_of(line);
    if (words.empty()) return;
    if (words.front().find('=') != std::string::npos) return read_slurm(words);
    if (words.size() != 2) {
      fail_here(fmt::format("{} word{}; expected a node and its switch", words.size(),
                            words.size() == 1 ? "" : "s"),
                "Such as \"node001 leaf1\"");
    }
    if (rows_.size() == kMostNames + kMostSwitches) fail_here("more rows than can be laid out");
    for (const std::string_view word : words) check_name(word);
    rows_.push_back({std::string(words[0]), std::string(words[1]), line_});
  }

  void check_name(std::string_view name) const {
    const auto odd = std::ranges::find_if_not(name, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("._-:/[],").find(c) != std::string_view::npos;
    });
    if (odd != name.end())
      fail_here(fmt::format("{} is not the name of a node or switch", in_quotes(name)),
                "Expected a line per node, such as \"node001 leaf1\"");
  }

  /// Whether the first row is a heading such as "host switch". Then the names below it have
  /// numbers.
  bool has_heading() const {
    const auto numbered = [](const std::string& name) {
      return name.find_first_of("0123456789") != std::string::npos;
    };
    if (rows_.size() < 2 || numbered(rows_[0].name) || numbered(rows_[0].on)) return false;
    return std::all_of(rows_.begin() + 1, rows_.end(),
                       [&](const Row& row) { return numbered(row.name); });
  }

  /// If a row's first name is a switch of other rows, the row connects that switch to another one.
  void place_rows() {
    if (has_heading()) rows_.erase(rows_.begin());
    std::set<std::string_view> switches;
    std::set<std::string_view> above_switches;
    for (const Row& row : rows_) switches.insert(row.on);
    for (const Row& row : rows_)
      if (switches.count(row.name) > 0) above_switches.insert(row.on);
    for (const Row& row : rows_) {
      line_ = row.line;
      const std::uint32_t here = switch_of(row.on);
      if (switches.count(row.name) > 0) {
        hang(row.name, here);
      } else if (above_switches.count(row.on) > 0) {
        fail_here(fmt::format("{} hangs on {}, as switches do, and no node hangs on it",
                              in_quotes(row.name), in_quotes(row.on)),
                  "Nodes connect to leaves; leave out the row of a switch without nodes");
      } else {
        for (const std::string& host : expanded(row.name)) add_host(host, here);
      }
    }
  }

  void hang(const std::string& name, std::uint32_t here) {
    SwitchPlan::Switch& below = plan_.switches[switch_of(name)];
    if (below.above && *below.above != here) {
      fail_here(fmt::format("{} hangs on two switches", in_quotes(name)),
                "The tree has one above each");
    }
    if (switch_of(name) == here) fail_here(fmt::format("{} hangs on itself", in_quotes(name)));
    plan_.switches[switch_of(name)].above = here;
  }

  void read_slurm(const Words& words) {
    std::map<std::string, std::string> fields;
    for (const std::string_view word : words) {
      const std::size_t equals = word.find('=');
      const std::string key(word.substr(0, equals));
      if (equals == std::string::npos ||
          (key != "SwitchName" && key != "Nodes" && key != "Switches" && key != "LinkSpeed" &&
           key != "Level")) {
        fail_here(
            fmt::format("{} is not a field of topology.conf", in_quotes(word)),
            "Fields read here: SwitchName, Nodes, Switches (LinkSpeed and Level are ignored)");
      }
      fields[key] = word.substr(equals + 1);
    }
    if (fields["SwitchName"].empty()) fail_here("no SwitchName");
    const std::uint32_t here = switch_of(fields["SwitchName"]);
    for (const std::string& host : expanded(fields["Nodes"])) add_host(host, here);
    for (const std::string& name : expanded(fields["Switches"])) hang(name, here);
  }

  void add_host(const std::string& name, std::uint32_t leaf) {
    if (!hosts_.emplace(name, line_).second) {
      fail_here(fmt::format("node {} is named twice", in_quotes(name)),
                fmt::format("First on line {}", hosts_.at(name)));
    }
    if (plan_.hosts.size() == kMostNames) fail_here("more nodes than can be laid out (65536)");
    plan_.hosts.push_back(name);
    plan_.leaf_of_host.push_back(leaf);
  }

  std::uint32_t switch_of(const std::string& name) {
    const auto [entry, fresh] =
        switches_.emplace(name, static_cast<std::uint32_t>(plan_.switches.size()));
    if (fresh) {
      if (plan_.switches.size() == kMostSwitches) fail_here("more switches than 16384");
      plan_.switches.push_back({name, {}});
    }
    return entry->second;
  }

  /// Expands "a,n[01-03,7]" to a n01 n02 n03 n7.
  std::vector<std::string> expanded(const std::string& list) const {
    std::vector<std::string> names;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t bracket = list.find_first_of("[,", at);
      if (bracket == std::string::npos || list[bracket] == ',') {
        const std::size_t end = std::min(bracket, list.size());
        if (end == at) fail_here(fmt::format("{} has an empty name", in_quotes(list)));
        names.push_back(list.substr(at, end - at));
        at = end + 1;
        continue;
      }
      const std::size_t close = list.find(']', bracket);
      if (close == std::string::npos) {
        fail_here(fmt::format("{} has a '[' that nothing closes", in_quotes(list)));
      }
      expand_ranges(list.substr(at, bracket - at), list.substr(bracket + 1, close - bracket - 1),
                    names);
      at = close + 1;
      if (at < list.size() && list[at] != ',') {
        fail_here(fmt::format("{} goes on after ']'", in_quotes(list)),
                  "One bracket at the end of each name");
      }
      ++at;
    }
    return names;
  }

  void expand_ranges(const std::string& prefix, const std::string& ranges,
                     std::vector<std::string>& names) const {
    if (ranges.empty()) fail_here(fmt::format("{}[] names nothing", in_quotes(prefix)));
    for (const std::string_view range : cells_of(ranges)) {
      const std::size_t dash = range.find('-');
      const std::string_view low = range.substr(0, dash);
      const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
      const auto from = number(low);
      const auto to = number(high);
      if (!from || !to || *from > *to) {
        fail_here(fmt::format("{} is not a range", in_quotes(range)), "Such as \"01-16\"");
      }
      if (*to - *from >= kMostNames || names.size() + (*to - *from) >= kMostNames) {
        fail_here(fmt::format("{} names more than 65536", in_quotes(range)));
      }
      for (std::uint64_t i = *from; i <= *to; ++i) {
        names.push_back(fmt::format("{}{:0>{}}", prefix, i, low.size()));
      }
    }
  }

  static std::optional<std::uint64_t> number(std::string_view digits) {
    constexpr std::size_t kMostDigits = 9;
    if (digits.size() > kMostDigits) return std::nullopt;
    return parse_number<std::uint64_t>(digits);
  }

  /// Requires that switches form no cycle, and that all of them lead to one top switch.
  void check_above() const {
    std::optional<std::uint32_t> top;
    for (const std::uint32_t leaf : plan_.leaf_of_host) {
      std::uint32_t at = leaf;
      for (std::size_t steps = 0; plan_.switches[at].above; ++steps) {
        if (steps > plan_.switches.size()) {
          fail("", fmt::format("the switches above {} form a cycle",
                               in_quotes(plan_.switches[leaf].name)));
        }
        at = *plan_.switches[at].above;
      }
      if (top && *top != at && has_tree()) {
        fail("",
             fmt::format("{} and {} are not connected", in_quotes(plan_.switches[*top].name),
                         in_quotes(plan_.switches[at].name)),
             "Name a switch above both: \"SwitchName=spine Switches=…\"");
      }
      top = at;
    }
  }

  bool has_tree() const {
    for (const SwitchPlan::Switch& entry : plan_.switches) {
      if (entry.above) return true;
    }
    return false;
  }

  struct Row {
    std::string name;
    std::string on;
    std::size_t line = 0;
  };

  std::string_view text_;
  const std::string& file_;
  std::vector<Row> rows_;  ///< rows of a plain list
  std::size_t line_ = 0;
  SwitchPlan plan_;
  std::map<std::string, std::uint32_t> switches_;
  std::map<std::string, std::size_t> hosts_;
};

}  // namespace

SwitchPlan parse_switch_list(std::string_view text, const std::string& file) {
  SwitchPlan plan = SwitchListReader(text, file).read();
  // A plain list names only leaves. A spine joins them.
  const bool plain = std::none_of(plan.switches.begin(), plan.switches.end(),
                                  [](const auto& entry) { return entry.above.has_value(); });
  if (plain && plan.switches.size() > 1) {
    const auto spine = static_cast<std::uint32_t>(plan.switches.size());
    for (auto& leaf : plan.switches) leaf.above = spine;
    plan.switches.push_back({"spine", {}});
  }
  return plan;
}

}  // namespace ddpsim
