# What a Python wheel carries (pyproject.toml, by scikit-build-core): the program on PATH, as ninja's, and beside the package's
# own modules the recorder. DDPSIM_PREBUILT names a program that is there already: nothing is compiled. DDPSIM_NOTICES is a
# folder for the wheel's metadata: bill of materials and licences of what is linked into that program (scripts/release.sh).
if(DDPSIM_PREBUILT)
  add_custom_target(ddpsim_cli)
  install(PROGRAMS ${DDPSIM_PREBUILT} DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
else()
  install(TARGETS ddpsim_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/traces/recorder/ddpsim_recorder.py DESTINATION ${SKBUILD_PLATLIB_DIR}/ddpsim COMPONENT wheel)
install(FILES ${PROJECT_SOURCE_DIR}/build/wasm/ddpsim.html DESTINATION ${SKBUILD_DATA_DIR}/share/ddpsim COMPONENT wheel OPTIONAL)
if(DDPSIM_NOTICES)
  install(DIRECTORY ${DDPSIM_NOTICES}/ DESTINATION ${SKBUILD_METADATA_DIR} COMPONENT wheel)
endif()
