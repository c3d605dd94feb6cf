# Target man: the manual pages, made by the programs from what their --help is made of, in <build>/man.
set(_folder ${CMAKE_BINARY_DIR}/man)
add_custom_target(man
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${_folder}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${_folder}
  COMMAND $<TARGET_FILE:hearth_program> manual ${_folder}
  COMMAND $<TARGET_FILE:hearthd> --manual > ${_folder}/hearthd.8
  DEPENDS hearth_program hearthd
  VERBATIM)
