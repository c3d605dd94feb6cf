# cmake --install: what of the build a machine gets, by component (cmake/packages.cmake makes a Debian package of each):
#   runtime      libhearth.so.N, which programs load
#   dev          headers, libhearth.so, CMake and pkg-config files
#   daemon       hearthd, its worker, the hearth command; manual pages, completion
#   blobs        the worker that compiles kernel blobs, and what libraries with blobs are built with
#   python3      the Python package for Debian's Python (python/CMakeLists.txt)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A build of some targets alone (scripts/demo.sh) would end in the middle of the prefix.
set(_whole $<TARGET_FILE:hearth>)
foreach(_target hearthd hearth_program hearth-worker hearth-vulkan-trial hearth-blob-worker hearth-hipcc hearth-blobc
        hearth_blob hearth_blob_client _hearth_system _nanobind)
  if(TARGET ${_target})
    list(APPEND _whole $<TARGET_FILE:${_target}>)
  endif()
endforeach()
if(TARGET hearthd AND TARGET hearth_program)
  list(APPEND _whole ${CMAKE_BINARY_DIR}/install/man.stamp)
endif()
install(CODE "
  set(_whole \"${_whole}\")
  foreach(_file IN LISTS _whole)
    if(NOT EXISTS \"\${_file}\")
      message(FATAL_ERROR \"\${_file} is not built, so nothing was installed; first build all that is installed: \"
        \"cmake --build ${CMAKE_BINARY_DIR} --target package_contents\")
    endif()
  endforeach()")

install(TARGETS hearth EXPORT hearthTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
# What the library starts, so that a Vulkan driver that crashes takes nobody with it.
if(TARGET hearth-vulkan-trial)
  install(TARGETS hearth-vulkan-trial RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hearth COMPONENT runtime)
endif()
install(DIRECTORY include/hearth DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# find_package(hearth): hearth::hearth for C++, hearth::c for C.
install(EXPORT hearthTargets NAMESPACE hearth:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hearth COMPONENT dev)
configure_package_config_file(cmake/hearthConfig.cmake.in ${CMAKE_BINARY_DIR}/install/hearthConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hearth)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/hearthConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/hearthConfig.cmake ${CMAKE_BINARY_DIR}/install/hearthConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hearth COMPONENT dev)

# pkg-config: hearth for C++, hearth-c for C, which needs nothing of absl. Their paths follow the file, wherever the
# prefix is.
file(RELATIVE_PATH HEARTH_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(_name hearth hearth-c)
  configure_file(cmake/${_name}.pc.in ${CMAKE_BINARY_DIR}/install/${_name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/install/${_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

if(NOT TARGET hearthd OR NOT TARGET hearth_program OR NOT TARGET hearth-worker)
  return()
endif()
install(TARGETS hearthd hearth_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT daemon)
install(TARGETS hearth-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hearth COMPONENT daemon)
# Manual pages and completion are printed by the programs themselves, once they are built.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/install/man.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/install/man
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/install/man
  COMMAND $<TARGET_FILE:hearth_program> manual ${CMAKE_BINARY_DIR}/install/man
  COMMAND $<TARGET_FILE:hearthd> --manual > ${CMAKE_BINARY_DIR}/install/man/hearthd.8
  COMMAND sh -c "gzip -9n ${CMAKE_BINARY_DIR}/install/man/*"
  COMMAND $<TARGET_FILE:hearth_program> completion bash > ${CMAKE_BINARY_DIR}/install/hearth.bash
  COMMAND $<TARGET_FILE:hearth_program> completion zsh > ${CMAKE_BINARY_DIR}/install/_hearth
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/install/man.stamp
  DEPENDS hearth_program hearthd VERBATIM)
add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/install/man.stamp)
install(DIRECTORY ${CMAKE_BINARY_DIR}/install/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT daemon
  FILES_MATCHING PATTERN "*.1.gz")
install(FILES ${CMAKE_BINARY_DIR}/install/man/hearthd.8.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT daemon)
install(FILES ${CMAKE_BINARY_DIR}/install/hearth.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME hearth COMPONENT daemon)
install(FILES ${CMAKE_BINARY_DIR}/install/_hearth DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT daemon)

if(TARGET hearth-blob-worker)
  install(TARGETS hearth-blob-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hearth COMPONENT blobs)
  install(TARGETS hearth-hipcc hearth-blobc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT blobs)
  install(TARGETS hearth_blob hearth_blob_client DESTINATION lib/hearth COMPONENT blobs)
  # What a build calls by the names of the tools that these stand in for: a folder to link to as 3rdparty/ck_jit.
  install(DIRECTORY blobs/tools/drop_in/ DESTINATION ${CMAKE_INSTALL_DATADIR}/hearth/ck_jit COMPONENT blobs
    USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "ck_*" PATTERN "__pycache__" EXCLUDE)
endif()

# Pages for people, with the links among them; examples.
set(_doc ${CMAKE_INSTALL_DATADIR}/doc)
install(FILES README.md DESTINATION ${_doc}/hearth COMPONENT daemon)
install(DIRECTORY docs/ DESTINATION ${_doc}/hearth/docs COMPONENT daemon FILES_MATCHING PATTERN "*.md"
  PATTERN "internal" EXCLUDE)
install(DIRECTORY deploy/fleet deploy/kubernetes DESTINATION ${_doc}/hearth/deploy COMPONENT daemon)
install(DIRECTORY examples/ DESTINATION ${_doc}/libhearth-dev/examples COMPONENT dev
  PATTERN "__pycache__" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE)
install(FILES examples/standalone/CMakeLists.txt DESTINATION ${_doc}/libhearth-dev/examples/standalone COMPONENT dev)

# All of it, and no test.
add_custom_target(package_contents DEPENDS hearth hearthd hearth_program hearth-worker man package_changelog)
if(TARGET hearth-vulkan-trial)
  add_dependencies(package_contents hearth-vulkan-trial)
endif()
if(TARGET hearth-blob-worker)
  add_dependencies(package_contents hearth-blob-worker hearth-hipcc hearth-blobc hearth_blob hearth_blob_client)
endif()
if(TARGET _hearth_system)
  set(_python lib/python3/dist-packages)
  install(TARGETS _hearth_system _nanobind LIBRARY DESTINATION ${_python}/hearth COMPONENT python3)
  install(DIRECTORY python/hearth/ DESTINATION ${_python}/hearth COMPONENT python3
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  install(DIRECTORY ${HEARTH_PYTHON_INFO} DESTINATION ${_python} COMPONENT python3)
  add_dependencies(package_contents _hearth_system _nanobind)
endif()

# As a service of the whole node (docs/daemon.md).
install(FILES deploy/systemd/hearthd.socket deploy/systemd/hearthd.service DESTINATION lib/systemd/system COMPONENT daemon)
install(FILES deploy/systemd/hearth.tmpfiles DESTINATION lib/tmpfiles.d RENAME hearth.conf COMPONENT daemon)
