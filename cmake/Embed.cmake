# ddpsim_embed(<target> <function> FILES …): compiles files into <target>, so that bundled data needs no path at run time.
# The target then defines the function
#   std::span<const EmbeddedFile> <function>();
# EmbeddedFile is in ddpsim/formats/embedded.hpp. In script mode (cmake -P) this file writes the source.
if(CMAKE_SCRIPT_MODE_FILE)
  set(out "#include \"ddpsim/formats/embedded.hpp\"\n#include <array>\n")
  string(APPEND out "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
  string(APPEND out "namespace ddpsim {\nnamespace {\n")
  string(APPEND out "constexpr std::array kFiles = {\n")
  foreach(path IN LISTS FILES)
    get_filename_component(name ${path} NAME_WLE)
    file(READ ${path} text)
    # Some compilers limit the length of one raw literal, so the text is split into adjacent literals. C++ guarantees only 64 KiB for
    # all of them together, but every supported compiler allows more.
    string(LENGTH "${text}" length)
    string(APPEND out "EmbeddedFile{\"${name}\", ")
    set(begin 0)
    while(begin LESS length)
      string(SUBSTRING "${text}" ${begin} 8000 chunk)
      string(APPEND out "R\"ddpsim(${chunk})ddpsim\"\n")
      math(EXPR begin "${begin} + 8000")
    endwhile()
    string(APPEND out "},\n")
  endforeach()
  string(APPEND out "};\n}  // namespace\n")
  string(APPEND out "std::span<const EmbeddedFile> ${FUNCTION}() { return kFiles; }\n}\n#pragma GCC diagnostic pop\n")
  file(WRITE ${OUTPUT} "${out}")
  return()
endif()

set(DDPSIM_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(ddpsim_embed target function)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARG_FILES}" -DFUNCTION=${function} -DOUTPUT=${output}
            -P ${DDPSIM_EMBED_SCRIPT}
    DEPENDS ${ARG_FILES} ${DDPSIM_EMBED_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
