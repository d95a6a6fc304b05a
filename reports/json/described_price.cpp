#include "described_price.hpp"

namespace ddpsim {

const Described<Price>& described_price() {
  static const auto described =
      Described<Price>("Price", "a price that somebody quoted", JsonWriter::Layout::line)
          .number("usd", &Price::usd, "the price in US dollars")
          .word("per", &Price::per, all_up_to(Price::Per::node),
                "what is paid for: an hour of a node, an hour of a GPU, or a node that is bought")
          .text("terms", &Price::terms, "the terms of the price, such as on-demand and the region")
          .text("as_of", &Price::as_of, "when the price was quoted")
          .text("source", &Price::source, "who quotes the price");
  return described;
}

}  // namespace ddpsim
