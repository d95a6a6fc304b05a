// A chart as a page: head, figure, legend, notes.
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

/// Below `top`; gives back where it ends.
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
  constexpr std::size_t kMostLines = 8;  // of one note
  const pugi::xml_node foot = add(parent, "g");
  double y = top;
  for (const std::string& note : notes)
    y = add_paragraph(foot, note, kAsideFont, y + 2, kMostLines, "aside");
  return y;
}

/// Drawn there, it ends at the frame.
pugi::xml_node add_window(pugi::xml_node parent, const Box& box) {
  return add(parent, "svg",
             {{"x", pixels(box.x)},
              {"y", pixels(box.y)},
              {"width", pixels(box.width)},
              {"height", pixels(box.height)},
              {"viewBox", pixels(box.x) + ' ' + pixels(box.y) + ' ' + pixels(box.width) + ' ' +
                              pixels(box.height)}});
}

/// "Too narrow to be named above: ring LL from 8 B on; …"
std::string unnamed_phases(const Chart& chart, const PhaseLines& lines) {
  std::string names;
  for (std::size_t i = 0; i < chart.phases.size(); ++i)
    if (lines.row[i] == kNoRow) names += (names.empty() ? "" : ", ") + chart.phases[i].name;
  return names.empty()
             ? ""
             : "Too narrow to be named above the frame, from left to right: " + names + '.';
}

}  // namespace

std::string svg(const Chart& chart) {
  pugi::xml_document document;
  pugi::xml_node page = add(document, "svg",
                            {{"xmlns", "http://www.w3.org/2000/svg"},
                             {"class", "ddpsim-plot"},
                             {"role", "img"},
                             {"aria-label", xml_text(chart.title)}});
  add_told(page, "title", chart.title);
  add_told(page, "desc", chart.description);
  add(page, "style").text().set(std::string(style_sheet()).c_str());
  const pugi::xml_node paper = add(page, "rect", {{"class", "paper"}});

  constexpr double kGap = 14;
  double top = draw_head(page, chart) + kGap + line_height(kAxisFont);
  Frame frame = frame_for(chart, top);
  const PhaseLines phases = lay_out_phases(chart, frame);
  add_text(page, {kMargin, top - line_height(kAxisFont) / 2}, xml_text(chart.y.title), kAxisFont);
  frame.box.y = top += phases.height + (chart.phases.empty() ? 0 : kGap / 2);

  draw_grid(page, frame);
  const pugi::xml_node window = add_window(page, frame.box);
  draw_areas(window, frame);
  draw_lines(window, frame);
  draw_phases(page, frame, phases);
  draw_axes(page, frame);
  draw_markers(page, frame);
  const std::vector<LegendEntry> legend = draw_names(page, frame);

  double end = draw_legend(page, legend, frame.box.bottom() + 4 * line_height(kTickFont));
  std::vector<std::string> notes = chart.notes;
  if (const std::string unnamed = unnamed_phases(chart, phases); !unnamed.empty())
    notes.insert(notes.begin(), unnamed);
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
