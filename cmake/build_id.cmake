# The compiler build id: SHA-256 over compiler/, proto/, blobs/library/, base/kernel_abi.h and the LLVM version. Two
# builds with one id produce the same plans and artifacts, so the id is part of every key. Regenerated at build when any
# input changes.
# Included, this file makes target hearth_build_id (runtime/build_id.h); run with -P it writes the source file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB_RECURSE _files RELATIVE ${ROOT} ${ROOT}/compiler/*.cpp ${ROOT}/compiler/*.h ${ROOT}/compiler/*.def
       ${ROOT}/compiler/*.c ${ROOT}/compiler/*.txt ${ROOT}/proto/*.proto ${ROOT}/blobs/library/*.cpp ${ROOT}/blobs/library/*.h
       ${ROOT}/base/kernel_abi.h)
  list(SORT _files COMPARE STRING)
  set(_llvm "none")
  if(EXISTS ${LLVM_DIR}/include/llvm/Config/llvm-config.h)
    file(STRINGS ${LLVM_DIR}/include/llvm/Config/llvm-config.h _llvm REGEX "define LLVM_VERSION_STRING")
  endif()
  set(_all "${_llvm}\n")
  foreach(_file ${_files})
    file(SHA256 ${ROOT}/${_file} _digest)
    string(APPEND _all "${_file} ${_digest}\n")
  endforeach()
  string(SHA256 _id "${_all}")
  file(CONFIGURE OUTPUT ${OUT} CONTENT "#include \"runtime/build_id.h\"
namespace hearth {
std::string_view build_id() { return \"${_id}\"; }
}  // namespace hearth
")
  return()
endif()

file(GLOB_RECURSE _inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/compiler/*.cpp ${PROJECT_SOURCE_DIR}/compiler/*.h
     ${PROJECT_SOURCE_DIR}/compiler/*.def ${PROJECT_SOURCE_DIR}/compiler/*.c ${PROJECT_SOURCE_DIR}/compiler/*.txt
     ${PROJECT_SOURCE_DIR}/proto/*.proto ${PROJECT_SOURCE_DIR}/blobs/library/*.cpp
     ${PROJECT_SOURCE_DIR}/blobs/library/*.h ${PROJECT_SOURCE_DIR}/base/kernel_abi.h)
if(EXISTS ${HEARTH_LLVM_DIR}/include/llvm/Config/llvm-config.h)
  list(APPEND _inputs ${HEARTH_LLVM_DIR}/include/llvm/Config/llvm-config.h)
endif()
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/gen/build_id.cpp
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLLVM_DIR=${HEARTH_LLVM_DIR}
          -DOUT=${CMAKE_BINARY_DIR}/gen/build_id.cpp -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${_inputs} ${CMAKE_CURRENT_LIST_FILE} COMMENT "compiler build id" VERBATIM)
hearth_library(hearth_build_id SOURCES ${CMAKE_BINARY_DIR}/gen/build_id.cpp)
hearth_station_root(_runtime runtime)  # its header
target_include_directories(hearth_build_id PUBLIC ${_runtime})
