// --interactive: the page with the simulator inside, and the inputs it starts from.
#pragma once

#include <optional>

#include "job_arguments.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"

namespace ddpsim {

/// Returns the page and everything it needs from this machine: the workload as it was read, and other files unchanged under their
/// last names. Returns nothing without --interactive. The page is the file that DDPSIM_HTML names, else ddpsim.html in the program's
/// folder or in ../share/ddpsim. Throws UsageError and InputError.
std::optional<InteractivePage> interactive_page(const OutputArguments& output,
                                                const JobArguments& arguments,
                                                const TypedLine& typed);

}  // namespace ddpsim
