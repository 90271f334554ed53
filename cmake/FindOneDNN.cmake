# oneDNN: the one that `make onednn` built, where the environment's PIJIT_ONEDNN names its folder, which is linked into what needs it; else
# headers and library of its PyPI wheels, as the building Python has them, or those named by
# ONEDNN_INCLUDE_DIR and ONEDNN_LIBRARY. Later wheels are SYCL builds with an OpenMP runtime of
# their own, so the version is fixed: here, and by tests/python/test_build.py wherever else it stands.
set(ONEDNN_WHEEL_VERSION 2023.2.0)
set(ONEDNN_VERSION 3.2)

if(NOT "$ENV{PIJIT_ONEDNN}" STREQUAL "")
  get_filename_component(_folder $ENV{PIJIT_ONEDNN} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  set(ONEDNN_INCLUDE_DIR ${_folder}/include CACHE PATH "oneDNN's headers" FORCE)
  set(_made)
  if(EXISTS ${_folder}/.version)
    file(STRINGS ${_folder}/.version _made)
  endif()
  if(_made MATCHES "threads of pijit")  # another one's regions would not have the threads that they ask for
    find_library(_library_of_folder libdnnl.a PATHS ${_folder}/lib NO_DEFAULT_PATH NO_CACHE)
  endif()
  set(ONEDNN_LIBRARY ${_library_of_folder} CACHE FILEPATH "oneDNN's library" FORCE)
  set(_why "PIJIT_ONEDNN is ${_folder}, which holds no lib/libdnnl.a of tools/onednn.sh: `make onednn` builds it")
elseif(NOT ONEDNN_INCLUDE_DIR OR NOT ONEDNN_LIBRARY)
  # Paths are left as Python spells them (no links followed): compiler caches then know them again
  # from another checkout.
  execute_process(COMMAND ${Python_EXECUTABLE} -c "
import importlib.metadata as m, os
def path(package, name):
    assert m.version(package) == '${ONEDNN_WHEEL_VERSION}', f'{package} {m.version(package)}'
    return os.path.normpath(next(f for f in m.files(package) if f.name == name).locate())
print(os.path.dirname(path('onednn-devel-cpu-gomp', 'dnnl.hpp')), path('onednn-cpu-gomp', 'libdnnl.so.3'), sep=';', end='')"
    OUTPUT_VARIABLE _found RESULT_VARIABLE _failed ERROR_VARIABLE _why)
  if(NOT _failed)
    list(GET _found 0 _include)
    list(GET _found 1 _library)
    set(ONEDNN_INCLUDE_DIR ${_include} CACHE PATH "oneDNN's headers" FORCE)
    set(ONEDNN_LIBRARY ${_library} CACHE FILEPATH "oneDNN's library" FORCE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS ONEDNN_LIBRARY ONEDNN_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "${_why}")
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  if(ONEDNN_LIBRARY MATCHES "\\.a$")
    set(ONEDNN_INSIDE ON)
    add_library(OneDNN::OneDNN STATIC IMPORTED)
    # Another one that the process has loaded, torch's for example, is not disturbed.
    set_property(TARGET OneDNN::OneDNN PROPERTY INTERFACE_LINK_OPTIONS "LINKER:--exclude-libs,libdnnl.a")
    set_property(TARGET OneDNN::OneDNN PROPERTY INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX ${CMAKE_DL_LIBS})
  else()
    set(ONEDNN_INSIDE OFF)
    add_library(OneDNN::OneDNN SHARED IMPORTED)
    get_filename_component(ONEDNN_LIBRARY_DIR ${ONEDNN_LIBRARY} DIRECTORY)
  endif()
  set_target_properties(OneDNN::OneDNN PROPERTIES IMPORTED_LOCATION ${ONEDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${ONEDNN_INCLUDE_DIR})
endif()
