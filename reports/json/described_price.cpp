#include "described_price.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

Described<Price> price_in(Layout layout) {
  Described<Price> price("Price", "a price and who quotes it", layout);
  price.number("usd", &Price::usd, "the price in US dollars")
      .word("per", &Price::per, all_up_to(Price::Per::node),
            "what the price buys: an hour of a node, an hour of a GPU, or a node")
      .text("terms", &Price::terms, "the terms of the price, such as on-demand and the region")
      .text("as_of", &Price::as_of, "when the price was quoted")
      .text("source", &Price::source, "who quotes the price");
  return price;
}

}  // namespace

const Described<Price>& described_price(Layout layout) {
  static const auto in_block = price_in(Layout::block);
  static const auto on_line = price_in(Layout::line);
  return layout == Layout::block ? in_block : on_line;
}

}  // namespace ddpsim
