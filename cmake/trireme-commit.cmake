# Sets trireme_commit: what Git says of the clone PROJECT_SOURCE_DIR, or what it has written into an archive of it; empty
# if neither can be told.
set(trireme_commit "")
if(EXISTS "${PROJECT_SOURCE_DIR}/.git")
  find_program(TRIREME_GIT git)
  mark_as_advanced(TRIREME_GIT)
  if(TRIREME_GIT)
    execute_process(COMMAND "${TRIREME_GIT}" describe --always --dirty --abbrev=40 --exclude=*
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE trireme_commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
else()
  file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/commit.txt" trireme_commit LIMIT_COUNT 1)  # filled in by git archive
  if(trireme_commit MATCHES "Format")
    set(trireme_commit "")
  endif()
endif()
