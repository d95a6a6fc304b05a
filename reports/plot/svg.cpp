// Charts as one page: head, frames, legend, notes.
#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "chart.hpp"
#include "frame.hpp"
#include "names.hpp"
#include "series_lines.hpp"

namespace ddpsim::plot {
namespace {

constexpr Font kTitleFont{16, true};
constexpr Font kVerdictFont{13};
constexpr double kTextWidth = kPageWidth - 2 * kMargin;

/// Writes below `top` and returns where the paragraph ends.
double add_paragraph(pugi::xml_node parent, std::string_view text, Font font, double top,
                     std::size_t most_lines, std::string_view css_class = "") {
  double y = top;
  for (const std::string& line : fitted_lines(xml_text(text), kTextWidth, font, most_lines)) {
    y += line_height(font);
    add_text(parent, {kMargin, y - (line_height(font) - font.size)}, line, font, Anchor::start,
             css_class);
  }
  return y;
}

double draw_head(pugi::xml_node parent, const Chart& chart) {
  constexpr std::size_t kMostLines = 4;
  const pugi::xml_node head = add(parent, "g");
  double y = add_paragraph(head, chart.title, kTitleFont, kMargin, kMostLines);
  y = add_paragraph(head, chart.subtitle, kLabelFont, y, kMostLines, "aside");
  if (!chart.verdict.empty())
    y = add_paragraph(head, chart.verdict, kVerdictFont, y + 4, kMostLines);
  return y;
}

double draw_notes(pugi::xml_node parent, const std::vector<std::string>& notes, double top) {
  constexpr std::size_t kMostLines = 8;
  const pugi::xml_node foot = add(parent, "g");
  double y = top;
  for (const std::string& note : notes)
    y = add_paragraph(foot, note, kAsideFont, y + 2, kMostLines, "aside");
  return y;
}

/// What is drawn into it ends at the frame.
pugi::xml_node add_window(pugi::xml_node parent, const Box& box) {
  return add(parent, "svg",
             {{"x", pixels(box.x)},
              {"y", pixels(box.y)},
              {"width", pixels(box.width)},
              {"height", pixels(box.height)},
              {"viewBox", pixels(box.x) + ' ' + pixels(box.y) + ' ' + pixels(box.width) + ' ' +
                              pixels(box.height)}});
}

/// "Too narrow to be named above the frame, from left to right: ring LL, tree LL."
std::string unnamed_phases(const Chart& chart, const PhaseLines& lines) {
  std::string names;
  for (std::size_t i = 0; i < chart.phases.size(); ++i)
    if (lines.row[i] == kNoRow) names += (names.empty() ? "" : ", ") + chart.phases[i].name;
  return names.empty()
             ? ""
             : "Too narrow to be named above the frame, from left to right: " + names + '.';
}

/// Draws a chart from `top` on and returns where its words below the frame end.
double draw_chart(pugi::xml_node page, Frame frame, double top, std::vector<LegendEntry>& legend,
                  std::string& unnamed) {
  constexpr double kGap = 7;
  const Chart& chart = *frame.chart;
  if (!chart.caption.empty()) {
    top += line_height(kLabelFont);
    add_text(page, {frame.left, top},
             fitted(xml_text(chart.caption), frame.right - frame.left, kSpotFont), kSpotFont);
  }
  top += line_height(kAxisFont);
  add_text(page, {frame.left, top}, xml_text(chart.y.title), kAxisFont);
  top += 0.8 * line_height(kAxisFont);
  const PhaseLines phases = lay_out_phases(chart, frame);
  frame.box.y = top += phases.height + (chart.phases.empty() ? 0 : kGap);

  draw_grid(page, frame);
  const pugi::xml_node window = add_window(page, frame.box);
  draw_areas(window, frame);
  draw_lines(window, frame);
  draw_intervals_beside(page, frame);
  draw_phases(page, frame, phases);
  draw_axes(page, frame);
  draw_markers(page, frame);
  for (LegendEntry& entry : draw_names(page, frame))
    if (std::ranges::find(legend, entry.name, &LegendEntry::name) == legend.end())
      legend.push_back(std::move(entry));
  unnamed += unnamed_phases(chart, phases);
  return frame.box.bottom() + 3.2 * line_height(kTickFont);
}

/// Where the frames of a figure stand. Charts of one column have the same margins, so that their frames stand below each
/// other, and all frames are equally wide.
class Columns {
 public:
  Columns(const std::vector<Chart>& charts, std::size_t columns) : margins_(columns) {
    constexpr double kMostOfNames = 0.34;
    std::vector<bool> named(columns);
    for (std::size_t i = 0; i < charts.size(); ++i)
      for (const Series& one : charts[i].series)
        if (!one.name.empty() && ends_at_the_right(one, charts[i])) named[i % columns] = true;
    const auto with_names = std::max<std::ptrdiff_t>(1, std::ranges::count(named, true));
    widest_name_ = kMostOfNames * kTextWidth / static_cast<double>(with_names) - kNameSample;
    const double whole = kTextWidth - kBetween * static_cast<double>(columns - 1);
    for (std::size_t i = 0; i < charts.size(); ++i) {
      const Margins own = margins_of(charts[i], widest_name_, whole / static_cast<double>(columns));
      Margins& shared = margins_[i % columns];
      shared = {std::max(shared.left, own.left), std::max(shared.right, own.right)};
    }
    width_ = whole;
    for (const Margins& one : margins_) width_ -= one.left + one.right;
    width_ /= static_cast<double>(columns);
  }

  Frame frame(const Chart& chart, std::size_t column, double top) const {
    double left = kMargin;
    for (std::size_t i = 0; i < column; ++i)
      left += margins_[i].left + width_ + margins_[i].right + kBetween;
    Frame frame = frame_for(chart, margins_[column], left, width_, top);
    frame.widest_name = widest_name_;
    return frame;
  }

 private:
  static constexpr double kBetween = 24;
  std::vector<Margins> margins_;
  double widest_name_ = 0;
  double width_ = 0;
};

}  // namespace

std::string svg(const Chart& chart) {
  return svg(std::vector{chart}, 1);
}

std::string svg(const std::vector<Chart>& charts, std::size_t columns) {
  const Chart& first = charts.front();
  pugi::xml_document document;
  pugi::xml_node page = add(document, "svg",
                            {{"xmlns", "http://www.w3.org/2000/svg"},
                             {"class", "ddpsim-plot"},
                             {"role", "img"},
                             {"aria-label", xml_text(first.title)}});
  add_told(page, "title", first.title);
  add_told(page, "desc", first.description);
  add(page, "style").text().set(std::string(style_sheet()).c_str());
  const pugi::xml_node paper = add(page, "rect", {{"class", "paper"}});

  constexpr double kGap = 14;
  double end = draw_head(page, first) + kGap;
  const Columns places(charts, columns);
  std::vector<LegendEntry> legend;
  std::string unnamed;
  double top = end;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i % columns == 0) top = end;
    const Frame frame = places.frame(charts[i], i % columns, top);
    end = std::max(end, draw_chart(page, frame, top, legend, unnamed));
  }

  end = draw_legend(page, legend, end);
  std::vector<std::string> notes = first.notes;
  if (!unnamed.empty()) notes.insert(notes.begin(), unnamed);
  end = draw_notes(page, notes, end) + kMargin;

  for (pugi::xml_node sized : {page, paper}) {
    sized.append_attribute("width").set_value(pixels(kPageWidth).c_str());
    sized.append_attribute("height").set_value(pixels(end).c_str());
  }
  page.append_attribute("viewBox").set_value(
      ("0 0 " + pixels(kPageWidth) + ' ' + pixels(end)).c_str());
  std::ostringstream text;
  document.save(text, " ", pugi::format_indent | pugi::format_no_declaration, pugi::encoding_utf8);
  return text.str();
}

}  // namespace ddpsim::plot
