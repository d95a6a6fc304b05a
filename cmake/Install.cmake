include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY DDPSIM_LIBRARIES)
install(TARGETS ${libraries} EXPORT ddpsim ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ddpsim_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT ddpsim NAMESPACE ddpsim:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ddpsim)
configure_package_config_file(cmake/ddpsimConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/ddpsimConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ddpsim)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ddpsimConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ddpsimConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ddpsimConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ddpsim)
# JSON Schemas of documents, for programs that read or write them.
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/ddpsim OPTIONAL)
# The page into which --interactive puts its reports, if the preset wasm has built it.
install(FILES ${PROJECT_SOURCE_DIR}/build/wasm/ddpsim.html DESTINATION ${CMAKE_INSTALL_DATADIR}/ddpsim OPTIONAL)
