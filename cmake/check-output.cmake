# Runs PROGRAM; every line of the file EXPECTED (if there) is a regular expression that its output must match.

execute_process(
  COMMAND "${PROGRAM}"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE result)
message("${output}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
if(EXISTS "${EXPECTED}")
  file(STRINGS "${EXPECTED}" patterns)
  foreach(pattern IN LISTS patterns)
    if(NOT output MATCHES "${pattern}")
      message(FATAL_ERROR "the output has nothing like: ${pattern}")
    endif()
  endforeach()
endif()
