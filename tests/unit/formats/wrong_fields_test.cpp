// Takes a file that has every field. Each field is left out or changed in turn. Checks the message,
// or that there is none if the value is at a limit.
//
// The folder wrong_fields holds the valid file, then [field, value, message]. Without a value, the
// field is left out.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "complaint.hpp"
#include "data_files.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/timeline_file.hpp"
#include "ddpsim/traces/workload_file.hpp"

using namespace ddpsim;

namespace {

using OrderedJson = nlohmann::ordered_json;

void leave_out(OrderedJson& document, const OrderedJson::json_pointer& field) {
  OrderedJson& parent = document.at(field.parent_pointer());
  if (parent.is_array())
    parent.erase(std::stoul(field.back()));
  else
    parent.erase(field.back());
}

template <typename Read>
void check_wrong_fields(const std::string& kind, const Read& read) {
  const OrderedJson cases =
      OrderedJson::parse(std::ifstream(files::page("tests/unit/wrong_fields/" + kind + ".json")));
  const OrderedJson& right = cases.at("right");
  REQUIRE(complaint_of([&] { read(right.dump()); }) == "");
  REQUIRE(cases.at("wrong").size() > 20);
  for (const OrderedJson& one : cases.at("wrong")) {
    OrderedJson document = right;
    const OrderedJson::json_pointer field(one[0].get<std::string>());
    if (one.size() == 3)
      document[field] = one[1];
    else
      leave_out(document, field);
    CAPTURE(one.dump());
    CHECK(complaint_of([&] { read(document.dump()); }) == one.back().get<std::string>());
  }
}

}  // namespace

TEST_CASE("wrong fields: of a workload file") {
  check_wrong_fields("workload", [](const std::string& text) { parse_workload(text, "w.json"); });
}

TEST_CASE("wrong fields: of a cluster file") {
  check_wrong_fields("cluster", [](const std::string& text) { parse_cluster(text, "c.json"); });
}

TEST_CASE("wrong fields: of a timeline file") {
  check_wrong_fields("timeline", [](const std::string& text) { parse_timeline(text, "t.json"); });
}
