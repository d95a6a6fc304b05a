# The contents of a Python wheel (pyproject.toml, by scikit-build-core): the program on PATH, and in the package its modules, the
# recorder and the generated files (scripts/python_package.py).
#
# DDPSIM_PREBUILT names an existing program, so that nothing is compiled. DDPSIM_GENERATED then names the folder of the files that this
# program generated, or another program of the same commit if this one cannot run here. DDPSIM_NOTICES is a folder for the metadata of
# the wheel: the bill of materials and the licences of the libraries in that program (scripts/release.sh).
if(DDPSIM_PREBUILT)
  if(NOT DDPSIM_GENERATED)
    message(FATAL_ERROR "DDPSIM_PREBUILT needs DDPSIM_GENERATED. Write that folder with: scripts/python_package.py -o FOLDER PROGRAM")
  endif()
  add_custom_target(ddpsim_python)
  install(PROGRAMS ${DDPSIM_PREBUILT} DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
else()
  set(DDPSIM_GENERATED ${PROJECT_BINARY_DIR}/generated)
  install(TARGETS ddpsim_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
endif()
install(DIRECTORY ${DDPSIM_GENERATED}/ DESTINATION ${SKBUILD_PLATLIB_DIR}/ddpsim COMPONENT wheel)
install(FILES ${PROJECT_SOURCE_DIR}/traces/recorder/ddpsim_recorder.py DESTINATION ${SKBUILD_PLATLIB_DIR}/ddpsim COMPONENT wheel)
install(FILES ${PROJECT_SOURCE_DIR}/build/wasm/ddpsim.html DESTINATION ${SKBUILD_DATA_DIR}/share/ddpsim COMPONENT wheel OPTIONAL)
if(DDPSIM_NOTICES)
  install(DIRECTORY ${DDPSIM_NOTICES}/ DESTINATION ${SKBUILD_METADATA_DIR} COMPONENT wheel)
endif()
