# frl_plugin(): in the tree, and with find_package(ferrule) of an installed one. FERRULE_PLUGIN_API is
# the folder that holds plugin-api/.
find_package(Threads REQUIRED)

# frl_plugin(name sources... [OUTPUT folder] [LINK libraries...]): <name>.so against plugin-api alone. It
# exports the entry and nothing else, unless EXPORTS_ALL says so: a template of the C++ library that a
# plugin exports as unique is never unmapped again. In the tree a plugin without OUTPUT is installed.
function(frl_plugin name)
  cmake_parse_arguments(P "EXPORTS_ALL" "OUTPUT" "LINK" ${ARGN})
  add_library(plugin_${name} MODULE ${P_UNPARSED_ARGUMENTS})
  target_compile_features(plugin_${name} PRIVATE cxx_std_20)
  target_include_directories(plugin_${name} PRIVATE ${FERRULE_PLUGIN_API})
  target_link_libraries(plugin_${name} PRIVATE Threads::Threads ${P_LINK})
  target_link_options(plugin_${name} PRIVATE -Wl,-Bsymbolic -Wl,--no-undefined -Wl,-z,defs)
  if(NOT P_EXPORTS_ALL AND NOT APPLE AND NOT WIN32)
    target_link_options(plugin_${name} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  endif()
  if(FERRULE_SANITIZE)
    # A sanitizer's runtime is the host's; its symbols stay undefined in a plugin built by clang.
    target_link_options(plugin_${name} PRIVATE -Wl,-z,undefs)
  endif()
  if(NOT P_OUTPUT)
    set(P_OUTPUT ${PROJECT_BINARY_DIR}/plugins)
    set_property(GLOBAL APPEND PROPERTY FERRULE_PLUGINS plugin_${name})
  endif()
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} C_VISIBILITY_PRESET hidden
                        CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${P_OUTPUT})
endfunction()
