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

/// Parses the figure and checks what holds for every figure.
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

/// Whether any text element contains these words.
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
  chart.ranges = {{1, 2, hostile}};
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

/// Boxes of all texts, as wide as text_width says.
std::vector<Box> text_boxes(const pugi::xml_document& document) {
  std::vector<Box> boxes;
  for (const pugi::xpath_node& one : document.select_nodes("//text")) {
    const pugi::xml_node node = one.node();
    const Font font{node.attribute("font-size").as_double(),
                    std::string(node.attribute("font-weight").value()) == "600"};
    const double width = text_width(node.text().get(), font);
    const std::string anchor = node.attribute("text-anchor").value();
    const double x = node.attribute("x").as_double();
    const double left = anchor == "end" ? x - width : anchor == "middle" ? x - width / 2 : x;
    boxes.push_back(
        {left, node.attribute("y").as_double() - 0.7 * font.size, width, 0.9 * font.size});
  }
  return boxes;
}

TEST_CASE("plot svg: a name of 200 characters is wrapped, no text passes the page") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.title = std::string(200, 'W');
  chart.series[0].name = std::string(200, 'W');
  chart.x.title = std::string(200, 'W');
  chart.spots = {{1.5, 15, std::nullopt, std::string(200, 'W'), {2}}};
  const auto document = read_back(svg(chart));
  for (const Box& box : text_boxes(document)) {
    CHECK(box.x >= 0);
    CHECK(box.right() <= document.child("svg").attribute("width").as_double());
  }
}

TEST_CASE("plot svg: names of lines that end together stand apart at the ends, in their order") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.series.clear();
  for (int i = 0; i < 6; ++i)
    chart.series.push_back({.name = "cluster " + std::to_string(i),
                            .values = {{1, 10}, {2, 15.0 - 0.01 * i}},
                            .look = {static_cast<std::size_t>(i)}});
  const auto document = read_back(svg(chart));
  double above = 0;
  for (const Series& one : chart.series) {
    const pugi::xml_node text = document.child("svg").find_node([&](const pugi::xml_node& node) {
      return std::string(node.name()) == "text" && node.text().get() == one.name;
    });
    REQUIRE(text);
    CHECK(text.attribute("y").as_double() > above + 12);
    above = text.attribute("y").as_double();
  }
  const std::vector<Box> boxes = text_boxes(document);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) CHECK_FALSE(overlap(boxes[i], boxes[k]));
}

TEST_CASE("plot svg: several charts stand side by side, and one legend names each series once") {
  Chart chart = chart_with({{1, 10}, {2, 20}, {4, 30}});
  chart.series[0].name = std::string(80, 'n');
  chart.caption = "left";
  Chart other = chart;
  other.caption = "right";
  const auto document = read_back(svg(std::vector{chart, other, chart}, 2));
  CHECK(says(document.child("svg"), "left"));
  CHECK(says(document.child("svg"), "right"));
  std::size_t named = 0;
  for (const pugi::xpath_node& one : document.select_nodes("//text"))
    named += one.node().text().get() == chart.series[0].name ? 1 : 0;
  CHECK(named == 1);
  for (const Box& box : text_boxes(document))
    CHECK(box.right() <= document.child("svg").attribute("width").as_double());
}

TEST_CASE("plot svg: intervals beside the frame are those of the last values") {
  Chart chart = chart_with({{1, 10, std::pair(5.0, 12.0)}, {2, 20, std::pair(15.0, 26.0)}});
  chart.series[0].spread = Spread::beside_frame;
  const auto document = read_back(svg(chart));
  // A bar and its two feet.
  CHECK(document.select_nodes("//line[@class='h0'][@stroke-width='1.4']").size() == 3);
}

TEST_CASE("plot svg: what is muted has no colour of its own") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.series[0].look = {3, true};
  const std::string text = svg(chart);
  CHECK(text.find("class=\"hm") != std::string::npos);
  CHECK(text.find("class=\"h3") == std::string::npos);
}

TEST_CASE("plot svg: values without a place on their axis are not drawn") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Chart chart = chart_with(
      {{1, 10}, {2, nan}, {nan, 3}, {0, 12}, {3, infinity}, {4, 20, std::pair(-infinity, nan)}});
  chart.levels = {{nan, "level"}};
  chart.spots = {{0, 10, std::pair(nan, 1.0), "spot", {1}}};
  chart.ranges = {{0, 2, "range"}};
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
  // Only the points that the columns of pixels can show.
  chart.series[0].join = Join::straight;
  CHECK(svg(chart).size() < 200'000);
}

TEST_CASE("plot svg: no name is lost if many lines end at one place") {
  Chart chart = chart_with({{1, 10}, {2, 20}});
  chart.series.clear();
  for (std::size_t i = 0; i < 40; ++i)
    chart.series.push_back({.name = "cluster number " + std::to_string(i) + ".",
                            .values = {{1, 10}, {2, 20}},
                            .look = {i}});
  const auto document = read_back(svg(chart));
  for (const Series& one : chart.series) CHECK(says(document, one.name));
}

TEST_CASE("plot svg: names that are too wide for the frame stand in full in the legend") {
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

TEST_CASE("plot svg: characters that XML does not allow are replaced") {
  CHECK(xml_text("a\tb\nc") == "a b c");
  CHECK(xml_text("±é漢😀") == "±é漢😀");
  CHECK(xml_text("\x7F") == "\uFFFD");
  CHECK(xml_text("\xC0\x80") == "\uFFFD\uFFFD");                      // overlong
  CHECK(xml_text("\xE2\x82") == "\uFFFD\uFFFD");                      // cut off
  CHECK(xml_text("\xEF\xBF\xBF") == "\uFFFD");                        // U+FFFF
  CHECK(xml_text("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
}

}  // namespace ddpsim::plot
