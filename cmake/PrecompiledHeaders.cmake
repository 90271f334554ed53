# Precompiled headers: what nearly all files read of other people's code. None of ours is in them, so
# that no edit makes them anew. Each file names what it needs all the same: PIJIT_PCH=OFF, as lint
# builds, shows one that doesn't.
option(PIJIT_PCH "Precompiled headers" ON)

set(CORE_HEADERS <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <mutex> <numeric> <optional> <set> <span> <stdexcept> <string> <string_view> <tuple>
  <unordered_map> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/strings/str_cat.h>)
set(PYTHON_HEADERS <pybind11/cast.h> <pybind11/detail/class.h> <pybind11/gil.h> ${CORE_HEADERS})  # not all of pybind11: python/define.h
set(EIGEN_HEADERS <Eigen/Dense>)

# precompile_headers(target headers…), or (target REUSE_FROM another) where flags are the same: g++ takes the options
# for optimization from the precompiled header, not from the command line. So files with options of their own go without.
function(precompile_headers target)
  if(PIJIT_PCH)
    if(ARGV1 STREQUAL REUSE_FROM)
      target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    else()
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
    # ccache reads from the preprocessor's output which precompiled header was used.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
