#include "help_format.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "ddpsim/formats/display_width.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kOptionColumn = 30;   ///< where descriptions of options begin
constexpr std::size_t kCommandColumn = 14;  ///< and of commands, each on a line

/// `name`, and from `column` on the words of `description`.
std::string two_columns(const std::string& name, const std::string& description,
                        std::size_t column) {
  std::string text = "  " + name;
  std::size_t used = display_width(text);
  if (used >= column) {  // at least one space between the two
    text += '\n';
    used = 0;
  }
  std::istringstream words(description);
  for (std::string word; words >> word;) {
    if (used > column && used + 1 + display_width(word) > kWidth) {
      text += '\n';
      used = 0;
    }
    const std::size_t gap = used < column ? column - used : 1;
    text += std::string(gap, ' ') + word;
    used += gap + display_width(word);
  }
  return text + '\n';
}

/// CLI11's layout (its versions differ) but for what would not fit into kWidth.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    // Between groups it leaves two lines empty.
    return CLI::detail::find_and_replace(CLI::Formatter::make_help(app, std::move(name), mode),
                                         "\n\n\n", "\n\n");
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return two_columns(make_option_name(option, is_positional) + make_option_opts(option),
                       make_option_desc(option), kOptionColumn);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return two_columns(command->get_name(), command->get_description(), kCommandColumn);
  }
  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : app->get_footer() + '\n';
  }
};

}  // namespace

void set_help_format(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
}

void add_example(CLI::App& command, const std::string& line) {
  command.footer("Example:\n  " + line);
}

}  // namespace ddpsim
