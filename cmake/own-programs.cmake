# How this project's own programs are compiled: warnings, processor flags, ccache. Never exported.

add_library(iclmech_warnings INTERFACE)
if(MSVC)
  target_compile_options(iclmech_warnings INTERFACE /W4 $<$<BOOL:${ICLMECH_WERROR}>:/WX>)
else()
  target_compile_options(iclmech_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                                                    $<$<BOOL:${ICLMECH_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False alarms at `"text" + string`: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
    target_compile_options(iclmech_warnings INTERFACE -Wno-restrict)
  endif()
endif()

add_library(iclmech_own_program INTERFACE)
target_link_libraries(iclmech_own_program INTERFACE iclmech_warnings)
if(ICLMECH_NATIVE AND NOT MSVC)
  target_compile_options(iclmech_own_program INTERFACE -march=native)
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ICLMECH_CCACHE ccache)
  mark_as_advanced(ICLMECH_CCACHE)
  if(ICLMECH_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${ICLMECH_CCACHE}")
  endif()
endif()
