# OpenBLAS with its C interface as CBLAS::CBLAS.

find_path(
  CBLAS_INCLUDE_DIR cblas.h
  HINTS /opt/homebrew/opt/openblas /usr/local/opt/openblas
  PATH_SUFFIXES include openblas openblas-pthread)
find_library(
  CBLAS_LIBRARY openblas
  HINTS /opt/homebrew/opt/openblas /usr/local/opt/openblas
  PATH_SUFFIXES lib openblas-pthread)
mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS_LIBRARY CBLAS_INCLUDE_DIR)

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS UNKNOWN IMPORTED)
  set_target_properties(CBLAS::CBLAS PROPERTIES IMPORTED_LOCATION "${CBLAS_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}")
endif()
