# cmake --install: the library with its headers and packages, the tool, the plugins, the plugin API.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(plugin_dir ${CMAKE_INSTALL_LIBDIR}/ferrule/plugins)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ferrule)

install(TARGETS ferrule EXPORT ferrule LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ferrule_cli ferrule_conformance RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY conformance/data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ferrule/conformance)
install(FILES core/api/ferrule.h core/api/ferrule.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ferrule)
install(FILES plugin-api/frl_plugin.h plugin-api/frl_ops.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plugin-api)
install(DIRECTORY plugin-api/sdk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plugin-api FILES_MATCHING PATTERN "*.h")
install(DIRECTORY plugins/template DESTINATION ${CMAKE_INSTALL_DATADIR}/ferrule)
install(FILES tools/cmake/plugin.map DESTINATION ${CMAKE_INSTALL_DATADIR}/ferrule/template)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES plugin-api/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME plugin-api.md)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.toml")
install(FILES tools/cmake/plugin.cmake tools/cmake/plugin.map DESTINATION ${package_dir})
get_property(plugins GLOBAL PROPERTY FERRULE_PLUGINS)
install(TARGETS ${plugins} LIBRARY DESTINATION ${plugin_dir})

install(EXPORT ferrule NAMESPACE ferrule:: FILE ferrule-targets.cmake DESTINATION ${package_dir})
file(RELATIVE_PATH include_dir /${package_dir} /${CMAKE_INSTALL_INCLUDEDIR})
file(WRITE ${PROJECT_BINARY_DIR}/ferrule-config.cmake
  "include(\"\${CMAKE_CURRENT_LIST_DIR}/ferrule-targets.cmake\")\n"
  "get_filename_component(FERRULE_PLUGIN_DIR \"\${CMAKE_CURRENT_LIST_DIR}/../../ferrule/plugins\" ABSOLUTE)\n"
  "get_filename_component(FERRULE_PLUGIN_API \"\${CMAKE_CURRENT_LIST_DIR}/${include_dir}\" ABSOLUTE)\n"
  "include(\"\${CMAKE_CURRENT_LIST_DIR}/plugin.cmake\")\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ferrule-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ferrule-config.cmake ${PROJECT_BINARY_DIR}/ferrule-config-version.cmake DESTINATION ${package_dir})
file(WRITE ${PROJECT_BINARY_DIR}/ferrule.pc
  "prefix=\${pcfiledir}/../..\n"
  "includedir=\${prefix}/include\nlibdir=\${pcfiledir}/..\nplugindir=\${libdir}/ferrule/plugins\n\n"
  "Name: ferrule\nDescription: Runs ONNX models on backends that are plugins\nVersion: ${PROJECT_VERSION}\n"
  "Cflags: -I\${includedir}\nLibs: -L\${libdir} -lferrule\n")
install(FILES ${PROJECT_BINARY_DIR}/ferrule.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
