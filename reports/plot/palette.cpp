#include "palette.hpp"

#include <array>

namespace ddpsim::plot {
namespace {

constexpr std::array<std::string_view, kColours> kDashes = {"",        "7 3", "2 3",
                                                            "9 3 2 3", "5 2", "12 4"};
constexpr std::array<Marker, kColours> kMarkers = {Marker::circle,   Marker::square,
                                                   Marker::triangle, Marker::diamond,
                                                   Marker::cross,    Marker::wedge};

/// The next round of colours takes the dashes and markers in another order.
std::size_t turned(Look look) {
  return (look.index + look.index / kColours) % kColours;
}

// Yellow is too light for paper: the colour of the text takes its place. Blue and orange are too dark for a dark screen,
// which gets lighter ones. The rules are scoped, so that a page that embeds the figure keeps its own style.
constexpr std::string_view kStyleSheet = R"(
.ddpsim-plot{color:#1a1a1a;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Helvetica,Arial,sans-serif}
.ddpsim-plot text{fill:currentColor}
.ddpsim-plot .aside{fill:#595959}
.ddpsim-plot .halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-opacity:.8;stroke-linejoin:round}
.ddpsim-plot .paper{fill:#fff}
.ddpsim-plot .grid{stroke:#e4e4e4}
.ddpsim-plot .axis,.ddpsim-plot .leader{stroke:#858585}
.ddpsim-plot .level{stroke:currentColor}
.ddpsim-plot .shade{fill:#7f7f7f;fill-opacity:.13}
.ddpsim-plot .layer{fill:#e69f00;fill-opacity:.18}
.ddpsim-plot .band{fill-opacity:.17;stroke:none}
.ddpsim-plot .h0{stroke:#0072b2}.ddpsim-plot .f0{fill:#0072b2}
.ddpsim-plot .h1{stroke:#d55e00}.ddpsim-plot .f1{fill:#d55e00}
.ddpsim-plot .h2{stroke:#009e73}.ddpsim-plot .f2{fill:#009e73}
.ddpsim-plot .h3{stroke:#cc79a7}.ddpsim-plot .f3{fill:#cc79a7}
.ddpsim-plot .h4{stroke:#e69f00}.ddpsim-plot .f4{fill:#e69f00}
.ddpsim-plot .h5{stroke:currentColor}.ddpsim-plot .f5{fill:currentColor}
.ddpsim-plot .hm{stroke:#9a9a9a}.ddpsim-plot .fm{fill:#9a9a9a}
@media screen and (prefers-color-scheme:dark){
.ddpsim-plot{color:#ececec}
.ddpsim-plot .aside{fill:#b0b0b0}
.ddpsim-plot .halo{stroke:#17191d}
.ddpsim-plot .paper{fill:#17191d}
.ddpsim-plot .grid{stroke:#30343b}
.ddpsim-plot .axis,.ddpsim-plot .leader{stroke:#8d8d8d}
.ddpsim-plot .shade{fill:#b5b5b5}
.ddpsim-plot .band{fill-opacity:.24}
.ddpsim-plot .h0{stroke:#56b4e9}.ddpsim-plot .f0{fill:#56b4e9}
.ddpsim-plot .h1{stroke:#ee7a2b}.ddpsim-plot .f1{fill:#ee7a2b}
.ddpsim-plot .hm{stroke:#7c828a}.ddpsim-plot .fm{fill:#7c828a}
}
)";

}  // namespace

std::string line_class(Look look) {
  return look.muted ? "hm" : "h" + std::to_string(look.index % kColours);
}
std::string area_class(Look look) {
  return look.muted ? "fm" : "f" + std::to_string(look.index % kColours);
}
std::string_view dash_of(Look look) {
  return kDashes[turned(look)];
}
Marker marker_of(Look look) {
  return kMarkers[turned(look)];
}

std::string_view style_sheet() {
  return kStyleSheet;
}

}  // namespace ddpsim::plot
