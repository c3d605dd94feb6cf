# Debian packages of what cmake/install.cmake installs, one a component:  scripts/package.sh
#   libhearth0     runtime        the library that programs load
#   libhearth-dev  dev            headers, CMake and pkg-config files
#   hearth         daemon         hearthd, its worker, the hearth command
#   hearth-blobs   blobs          what compiles kernel blobs
#   python3-hearth python3        the Python package, where nanobind is there to build it (scripts/python.sh)
set(_debian ${PROJECT_SOURCE_DIR}/deploy/debian)
set(_out ${CMAKE_BINARY_DIR}/install)

# What Debian wants of every package: copyright and changelog.
add_custom_command(OUTPUT ${_out}/changelog.gz
  COMMAND gzip -9nc ${_debian}/changelog > ${_out}/changelog.gz
  DEPENDS ${_debian}/changelog VERBATIM)
add_custom_target(package_changelog ALL DEPENDS ${_out}/changelog.gz)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hearth)
set(CPACK_PACKAGE_VENDOR Hearth)
set(CPACK_PACKAGE_CONTACT "Hearth developers <hearth@hearth-compiler.org>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
option(HEARTH_PACKAGE_SYMBOLS "Make a package of debug symbols for each; compile with -g1" OFF)
if(NOT HEARTH_PACKAGE_SYMBOLS)  # else CPack takes the symbols out itself, into packages of their own
  set(CPACK_STRIP_FILES ON)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# hearth_package(COMPONENT NAME SECTION DEPENDS RECOMMENDS SUMMARY DESCRIPTION)
function(hearth_package component name section depends recommends summary description)
  string(TOUPPER ${component} _upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_RECOMMENDS "${recommends}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${_upper}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  file(GLOB _scripts ${_debian}/${name}/postinst ${_debian}/${name}/prerm ${_debian}/${name}/postrm
    ${_debian}/${name}/triggers ${_debian}/${name}/conffiles)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_CONTROL_EXTRA "${_scripts}" PARENT_SCOPE)
  if(EXISTS ${_debian}/${name}/lintian-overrides)
    install(FILES ${_debian}/${name}/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
      RENAME ${name} COMPONENT ${component})
  endif()
  if(HEARTH_PACKAGE_SYMBOLS)
    set(CPACK_DEBIAN_${_upper}_DEBUGINFO_PACKAGE ON PARENT_SCOPE)
  endif()
  set(_copyright ${_debian}/copyright)
  if(EXISTS ${_debian}/${name}/copyright)  # of others, too
    set(_copyright ${_debian}/${name}/copyright)
  endif()
  install(FILES ${_copyright} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
  install(FILES ${_out}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endfunction()

set(_version "(= ${PROJECT_VERSION})")
hearth_package(runtime libhearth${PROJECT_VERSION_MAJOR} libs "" "hearth"
  "client library of the Hearth compiler service"
  "Records graphs of tensors or imports ONNX models, has the compiler service of\nthe node prepare them, and replays the plan in the process, without a compiler\nin it.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libvulkan1, mesa-vulkan-drivers")
hearth_package(dev libhearth-dev libdevel
  "libhearth${PROJECT_VERSION_MAJOR} ${_version}, libabsl-dev, libstdc++-12-dev | libstdc++-dev" "pkg-config"
  "development files of the Hearth client library"
  "Headers for C++20 and for C, CMake and pkg-config files.")
set(CPACK_DEBIAN_DAEMON_PACKAGE_SUGGESTS hearth-blobs)  # with compilers of several hundred MB
hearth_package(daemon hearth devel "adduser" ""
  "compiler service for machine-learning models"
  "hearthd compiles the models of all processes of a node, each kernel once, in\nsandboxed workers, and keeps what it compiled. The hearth command runs,\ninspects, tunes and prewarms models.")
hearth_package(blobs hearth-blobs devel "hearth ${_version}, python3" "clang-19, lld-19, hipcc, rocm-device-libs"
  "kernel blobs for the Hearth compiler service"
  "Compiles hand-written kernel variants (HIP, C++) when they are called first,\nand intercepts the builds of libraries that have thousands of them.")
if(TARGET _hearth_system)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})  # libhearth0's
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_SUGGESTS "python3-numpy")
  hearth_package(python3 python3-hearth python "${HEARTH_PYTHON_DEPENDS}, libhearth${PROJECT_VERSION_MAJOR} ${_version}"
    "hearth" "Python package of the Hearth compiler service"
    "Loads ONNX models, records tensors and jits functions; calls take numpy's and\ntorch's arrays where they lie.")
endif()
include(CPack)
