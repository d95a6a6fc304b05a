// Words in figures: how wide they are, and that none lies on another.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "label_placement.hpp"
#include "text_extent.hpp"

namespace ddpsim::plot {

namespace {

constexpr Box kArea{0, 0, 400, 300};

Label label_at(double x, double y, double width = 80) {
  return {{{x, y}}, width, 15};
}

void check_apart(const std::vector<std::optional<PlacedLabel>>& placed, const Box& area) {
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (!placed[i]) continue;
    CHECK(inside(placed[i]->box, area));
    for (std::size_t k = 0; k < i; ++k) {
      if (!placed[k]) continue;
      CHECK_FALSE(overlap(placed[i]->box, placed[k]->box));
      if (placed[i]->leader) CHECK_FALSE(crosses(*placed[i]->leader, placed[k]->box));
      if (placed[k]->leader) CHECK_FALSE(crosses(*placed[k]->leader, placed[i]->box));
    }
  }
}

}  // namespace

TEST_CASE("plot labels: alone, to the right of its anchor and close") {
  const auto placed = place_labels({label_at(100, 100)}, kArea, {});
  REQUIRE(placed[0]);
  CHECK(placed[0]->box.x == 107);
  CHECK(placed[0]->behind);
  CHECK_FALSE(placed[0]->leader);
}

TEST_CASE("plot labels: at the right edge, to the left") {
  const auto placed = place_labels({label_at(390, 100)}, kArea, {});
  REQUIRE(placed[0]);
  CHECK(placed[0]->box.right() <= 400);
  CHECK_FALSE(placed[0]->behind);
}

TEST_CASE("plot labels: thirty on one point lie apart or are given back, and keep inside") {
  const std::vector<Label> labels(30, label_at(200, 150));
  const auto placed = place_labels(labels, kArea, {});
  check_apart(placed, kArea);
  std::size_t shown = 0;
  bool tied = false;
  for (const auto& one : placed) {
    shown += one.has_value() ? 1 : 0;
    tied = tied || (one && one->leader);
  }
  // One in most directions, because no leader crosses another label.
  CHECK(shown >= 6);
  CHECK(tied);
}

TEST_CASE("plot labels: neighbours in the way of each other lie apart") {
  std::vector<Label> labels;
  for (int i = 0; i < 12; ++i) labels.push_back(label_at(30 + 25 * (i % 4), 140 + 6 * (i / 4)));
  check_apart(place_labels(labels, kArea, {}), kArea);
}

TEST_CASE("plot labels: a line is hidden only where there is no other place near") {
  const Obstacles line{.boxes = {}, .segments = {{{0, 100}, {400, 100}}}};
  const auto placed = place_labels({label_at(100, 100)}, kArea, line);
  REQUIRE(placed[0]);
  CHECK_FALSE(crosses({{0, 100}, {400, 100}}, placed[0]->box));
}

TEST_CASE("plot labels: hiding a line is as bad as ten anchors less likely") {
  // As high as the area, so that it stands to the right of an anchor or to its left. Wherever it stands beside the first
  // anchor a line runs through it; the last anchor lies behind the end of that line.
  const Box area{0, 0, 700, 15};
  const Obstacles line{.boxes = {}, .segments = {{{0, 7}, {500, 7}}}};
  const auto placed = [&](std::size_t less_likely) {
    Label label{
        .anchors = std::vector<Point>(less_likely, Point{10, 7.5}), .width = 80, .height = 15};
    label.anchors.push_back({550, 7.5});
    return place_labels({label}, area, line).front();
  };
  REQUIRE(placed(9));
  CHECK(placed(9)->box.x == 557);
  REQUIRE(placed(10));
  CHECK(placed(10)->box.x == 17);  // as good, and met first
}

TEST_CASE("plot labels: wider than the figure, or without an anchor, has no place") {
  CHECK_FALSE(place_labels({label_at(100, 100, 500)}, kArea, {})[0]);
  CHECK_FALSE(place_labels({{{}, 10, 10}}, kArea, {})[0]);
}

TEST_CASE("plot labels: a segment through, beside and inside a box") {
  const Box box{10, 10, 10, 10};
  CHECK(crosses({{0, 0}, {30, 30}}, box));
  CHECK(crosses({{12, 12}, {13, 13}}, box));
  CHECK_FALSE(crosses({{0, 0}, {30, 5}}, box));
  CHECK_FALSE(crosses({{0, 25}, {5, 0}}, box));
  CHECK(crosses({{15, 0}, {15, 40}}, box));
}

TEST_CASE("plot text: widths grow with every character, what is not ASCII counts in full") {
  const Font font{10};
  CHECK(text_width("", font) == 0);
  CHECK(text_width("i", font) < text_width("W", font));
  CHECK(text_width("\xE6\xBC\xA2", font) == 10);
  CHECK(text_width("abc", {10, true}) > text_width("abc", font));
  // A byte that no UTF-8 has, and a control character, have a width, too.
  CHECK(text_width("\xFF", font) > 0);
  CHECK(text_width("\x01", font) > 0);
}

TEST_CASE("plot text: cut in the middle, never wider than its room") {
  const Font font{12};
  const std::string name(200, 'm');
  for (const double room : {5.0, 30.0, 100.0, 333.0}) {
    const std::string cut = fitted(name, room, font);
    CHECK(text_width(cut, font) <= room);
  }
  CHECK(fitted("short", 100, font) == "short");
  const std::string cut = fitted("begin" + name + "end", 100, font);
  CHECK(cut.starts_with("begin"));
  CHECK(cut.ends_with("end"));
}

TEST_CASE("plot text: lines end between words, a percent sign stays with its number") {
  const Font font{10};
  const double room = text_width("compute 2.1", font) + 1;
  CHECK(fitted_lines("compute 2.1 % slower", room, font, 9) ==
        std::vector<std::string>{"compute", "2.1 %", "slower"});
  const std::string word(100, 'x');
  for (const std::string& line : fitted_lines(word, 90, font, 99))
    CHECK(text_width(line, font) <= 90);
  CHECK(fitted_lines("a b c d e f g h", 20, font, 2).size() == 2);
  CHECK(fitted_lines("", 20, font, 2).empty());
}

}  // namespace ddpsim::plot
