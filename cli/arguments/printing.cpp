#include "printing.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

bool wrote_all(std::string_view text, std::FILE* to) {
  return std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
}

}  // namespace

bool output_takes_styles() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

void print(std::string_view text) {
  const std::string shown =
      printable_lines(text, output_takes_styles() ? Styles::kept : Styles::dropped);
  if (!wrote_all(shown, stdout)) throw std::runtime_error("cannot write to standard output");
}

void print_error(std::string_view text) {
  wrote_all(printable(text) + '\n', stderr);
}

}  // namespace ddpsim
