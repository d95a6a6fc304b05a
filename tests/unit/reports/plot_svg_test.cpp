// A figure as a document: it can be read back, whatever the names and the values.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <pugixml.hpp>
#include <string>

#include "chart.hpp"
#include "svg_element.hpp"

namespace ddpsim::plot {

namespace {

Chart chart_with(std::vector<Value> values) {
  Extent x(ScaleKind::logarithmic);
  Extent y(ScaleKind::linear);
  for (const Value& value : values) {
    x.add(value.x);
    y.add(value.y);
  }
  const Scale across(ScaleKind::logarithmic, x);
  const Scale up(ScaleKind::linear, y);
  Chart chart{.title = "title",
              .subtitle = "subtitle",
              .x = {"x, MiB", across, ticks_of(across, 9)},
              .y = {"y, ms", up, ticks_of(up, 7)}};
  chart.series.push_back({.name = "series", .values = std::move(values)});
  return chart;
}

/// Also checks what holds of every figure.
pugi::xml_document read_back(const std::string& text) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_string(text.c_str());
  CHECK_MESSAGE(parsed, parsed.description());
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("href") == std::string::npos);
  const pugi::xml_node page = document.child("svg");
  CHECK(std::string(page.child("title").text().get()) != "");
  CHECK(std::string(page.child("style").text().get()).find("url(") == std::string::npos);
  return document;
}

/// What a text element says, wherever it stands.
bool says(const pugi::xml_node& node, const std::string& words) {
  return static_cast<bool>(node.find_node([&](const pugi::xml_node& one) {
    return std::string(one.name()) == "text" &&
           std::string(one.text().get()).find(words) != std::string::npos;
  }));
}

std::size_t markers_in(const pugi::xml_node& node) {
  std::size_t count = 0;
  for (const pugi::xpath_node& one : node.select_nodes("//circle")) count += one ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("plot svg: reads back, with units, title and text for those who do not see it") {
  Chart chart = chart_with({{1, 10}, {2, 20, std::pair(15.0, 26.0)}, {4, 30}});
  chart.description = "what it shows";
  chart.notes = {"a note"};
  const auto document = read_back(svg(chart));
  const pugi::xml_node page = document.child("svg");
  CHECK(std::string(page.attribute("role").value()) == "img");
  CHECK(std::string(page.child("desc").text().get()) == "what it shows");
  for (const char* words : {"title", "subtitle", "x, MiB", "y, ms", "series", "a note"})
    CHECK(says(page, words));
}

TEST_CASE("plot svg: the same chart, the same bytes") {
  const Chart chart = chart_with({{1, 10}, {2, 20}, {4, 15}});
  CHECK(svg(chart) == svg(chart));
}

TEST_CASE("plot svg: names are escaped, whatever they hold") {
  const std::string hostile = "</text><script>alert(1)</script>\"&<'\x01\xFF\xED\xA0\x80\u202E";
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.title = chart.subtitle = chart.verdict = chart.description = hostile;
  chart.x.title = chart.y.title = hostile;
  chart.series[0].name = hostile;
  chart.series[0].values[0].told = hostile;
  chart.notes = {hostile};
  chart.levels = {{15, hostile}};
  chart.spots = {{1.5, 15, std::nullopt, hostile, {2}}};
  chart.phases = {{1, 2, hostile}};
  chart.stretches = {{1, 2, hostile}};
  chart.layers = {{12, 14, hostile}};
  chart.y.ticks = {{15, hostile}};
  const std::string text = svg(chart);
  const auto document = read_back(text);
  CHECK_FALSE(document.child("svg").find_node(
      [](const pugi::xml_node& one) { return std::string(one.name()) == "script"; }));
  CHECK(text.find('\x01') == std::string::npos);
  CHECK(text.find('\xFF') == std::string::npos);
  CHECK(text.find("\xED\xA0\x80") == std::string::npos);
}

TEST_CASE("plot svg: a name of 200 characters is cut or wrapped, no text passes the page") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.title = std::string(200, 'W');
  chart.series[0].name = std::string(200, 'W');
  chart.x.title = std::string(200, 'W');
  chart.spots = {{1.5, 15, std::nullopt, std::string(200, 'W'), {2}}};
  const auto document = read_back(svg(chart));
  for (const pugi::xpath_node& one : document.select_nodes("//text")) {
    const pugi::xml_node node = one.node();
    const Font font{node.attribute("font-size").as_double(),
                    std::string(node.attribute("font-weight").value()) == "600"};
    const double width = text_width(node.text().get(), font);
    const std::string anchor = node.attribute("text-anchor").value();
    const double x = node.attribute("x").as_double();
    const double left = anchor == "end" ? x - width : anchor == "middle" ? x - width / 2 : x;
    CHECK(left >= 0);
    CHECK(left + width <= document.child("svg").attribute("width").as_double());
  }
}

TEST_CASE("plot svg: what has no place is not drawn") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Chart chart = chart_with(
      {{1, 10}, {2, nan}, {nan, 3}, {0, 12}, {3, infinity}, {4, 20, std::pair(-infinity, nan)}});
  chart.levels = {{nan, "level"}};
  chart.spots = {{0, 10, std::pair(nan, 1.0), "spot", {1}}};
  chart.stretches = {{0, 2, "stretch"}};
  chart.layers = {{-infinity, 12, "layer"}};
  chart.series[0].name.clear();
  CHECK(markers_in(read_back(svg(chart))) == 2);
}

TEST_CASE("plot svg: nothing, one point, one value, a thousand points") {
  read_back(svg(chart_with({})));
  CHECK(markers_in(read_back(svg(chart_with({{8, 3}})))) >= 1);
  read_back(svg(chart_with({{1, 5}, {2, 5}, {4, 5}})));
  std::vector<Value> many;
  for (int i = 1; i <= 10'000; ++i)
    many.push_back({static_cast<double>(i), std::sin(i) * i, std::pair(-1.0 * i, 1.0 * i)});
  Chart chart = chart_with(many);
  for (const Join join : {Join::straight, Join::steps, Join::none}) {
    chart.series[0].join = join;
    chart.series[0].markers = join == Join::none;
    read_back(svg(chart));
  }
  // As many points as columns of pixels can show, not as there are.
  chart.series[0].join = Join::straight;
  CHECK(svg(chart).size() < 200'000);
}

TEST_CASE("plot svg: names of many lines at one place go to the legend, none is lost") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.series.clear();
  for (std::size_t i = 0; i < 40; ++i)
    chart.series.push_back({.name = "cluster number " + std::to_string(i) + ".",
                            .values = {{1, 10}, {2, 20}},
                            .look = {i}});
  const auto document = read_back(svg(chart));
  for (const Series& one : chart.series) CHECK(says(document, one.name));
}

TEST_CASE("plot svg: names that are alike where they are cut stand in full in the legend") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.series.clear();
  const std::string same(25, 'x');
  for (const char* middle : {" one ", " two "})
    chart.series.push_back({.name = same + middle + same, .values = {{1, 10}, {2, 20}}});
  const auto document = read_back(svg(chart));
  for (const Series& one : chart.series) CHECK(says(document, one.name));
}

TEST_CASE("plot svg: pixels to a hundredth, and no negative zero") {
  CHECK(pixels(0) == "0");
  CHECK(pixels(-0.001) == "0");
  CHECK(pixels(12.5) == "12.5");
  CHECK(pixels(100) == "100");
  CHECK(pixels(1.0 / 3) == "0.33");
}

TEST_CASE("plot svg: text keeps what XML may hold") {
  CHECK(xml_text("a\tb\nc") == "a b c");
  CHECK(xml_text("±é漢😀") == "±é漢😀");
  CHECK(xml_text("\x7F") == "\uFFFD");
  CHECK(xml_text("\xC0\x80") == "\uFFFD\uFFFD");                      // overlong
  CHECK(xml_text("\xE2\x82") == "\uFFFD\uFFFD");                      // cut off
  CHECK(xml_text("\xEF\xBF\xBF") == "\uFFFD");                        // U+FFFF
  CHECK(xml_text("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
}

}  // namespace ddpsim::plot
