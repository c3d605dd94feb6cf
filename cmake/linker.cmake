# Addresses of functions are looked up when a program starts and read-only from then on.
if(NOT HEARTH_SANITIZE)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
# Programs are linked by LLVM's linker where it is installed beside the libraries that we build against: it takes a tenth
# of the time of GNU ld, which a build with some hundred test programs sees.
find_program(HEARTH_LLD ld.lld HINTS ${HEARTH_LLVM_DIR}/bin NO_DEFAULT_PATH)
if(HEARTH_LLD)
  get_filename_component(_folder ${HEARTH_LLD} DIRECTORY)
  add_link_options(-fuse-ld=lld -B${_folder})
endif()
