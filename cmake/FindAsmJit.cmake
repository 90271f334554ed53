# asmjit: Debian's static archive, with one symbol renamed (csrc/cpu/loops/asmjit.cc says why).
set(ASMJIT_VERSION 1.9)

find_path(ASMJIT_INCLUDE_DIR asmjit/x86.h)
find_library(ASMJIT_ARCHIVE NAMES libasmjit.a)
if(ASMJIT_INCLUDE_DIR)
  file(STRINGS ${ASMJIT_INCLUDE_DIR}/asmjit/core/api-config.h _line REGEX "define ASMJIT_LIBRARY_VERSION")
  string(REGEX REPLACE ".*/\\* ([0-9.]+) .*" "\\1" _version "${_line}")
endif()
include(FindPackageHandleStandardArgs)
set(AsmJit_FIND_VERSION ${ASMJIT_VERSION})
find_package_handle_standard_args(AsmJit REQUIRED_VARS ASMJIT_ARCHIVE ASMJIT_INCLUDE_DIR VERSION_VAR _version)
if(AsmJit_FOUND AND NOT TARGET AsmJit::AsmJit)
  set(_fixed ${CMAKE_BINARY_DIR}/libasmjit_fixed.a)
  add_custom_command(OUTPUT ${_fixed} DEPENDS ${ASMJIT_ARCHIVE}
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=pijit_stderr ${ASMJIT_ARCHIVE} ${_fixed})
  add_custom_target(asmjit_fixed DEPENDS ${_fixed})
  add_library(AsmJit::AsmJit STATIC IMPORTED)
  set_target_properties(AsmJit::AsmJit PROPERTIES IMPORTED_LOCATION ${_fixed}
    INTERFACE_INCLUDE_DIRECTORIES ${ASMJIT_INCLUDE_DIR} INTERFACE_COMPILE_DEFINITIONS ASMJIT_STATIC)
  add_dependencies(AsmJit::AsmJit asmjit_fixed)
endif()
