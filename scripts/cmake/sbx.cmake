# What every module's CMakeLists.txt uses: one set of flags, one way to add a library, a test, a
# fuzz target.

option(SBX_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(SBX_FUZZ "Build libFuzzer targets (clang)" OFF)
option(SBX_BENCH "Build benchmarks" OFF)
option(SBX_COVERAGE "Count the lines that tests reach (gcc --coverage)" OFF)
option(SBX_WERROR "Warnings are errors (our CI)" OFF)
option(SBX_FAULTS "Honour SBX_FAULT=step:N and other test switches; never in an installed build" ON)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(SBX_LIBEXEC_DIR ${CMAKE_BINARY_DIR}/libexec/sbx) # same shape as an installed tree: bin/ beside libexec/sbx/

find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
set(libs yaml-0.1 jansson libidn2 libpcre2-8)
if(BUILD_TESTING)
  list(APPEND libs cmocka)
endif()
foreach(lib ${libs})
  string(MAKE_C_IDENTIFIER ${lib} id)
  pkg_check_modules(${id} REQUIRED IMPORTED_TARGET ${lib})
endforeach()

# For the static programs that run where nothing else may be: the same flags, never a sanitizer.
add_library(sbx_plain_flags INTERFACE)
target_compile_options(sbx_plain_flags INTERFACE -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -Wformat=2 $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> -fstack-protector-strong -fno-common
  $<$<BOOL:${SBX_WERROR}>:-Werror>)
target_compile_definitions(sbx_plain_flags INTERFACE _GNU_SOURCE
  $<$<BOOL:${SBX_FAULTS}>:SBX_FAULTS=1>
  $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
target_link_options(sbx_plain_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)

add_library(sbx_flags INTERFACE)
target_link_libraries(sbx_flags INTERFACE sbx_plain_flags)
if(SBX_SANITIZE)
  target_compile_options(sbx_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer -U_FORTIFY_SOURCE)
  target_link_options(sbx_flags INTERFACE -fsanitize=address,undefined)
endif()
if(SBX_FUZZ)
  target_compile_options(sbx_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SBX_COVERAGE)
  target_compile_options(sbx_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(sbx_flags INTERFACE --coverage)
endif()

# Where tests make their temporary files: short, since the paths of sockets are (108 bytes), and one a build, so that the
# next run can empty what a killed test left (testtmp.sh, a CTest fixture of every test).
string(SHA1 SBX_TEST_TMP ${CMAKE_BINARY_DIR})
string(SUBSTRING ${SBX_TEST_TMP} 0 6 SBX_TEST_TMP)
set(SBX_TEST_TMP /tmp/sbx-${SBX_TEST_TMP})
set(SBX_TEST_TIMEOUT 600) # seconds: the longest takes 60 on a machine of its own; only a hang takes more on a busy one
add_library(sbx_test_tmp INTERFACE)
target_sources(sbx_test_tmp INTERFACE ${CMAKE_CURRENT_LIST_DIR}/testtmp.c)
target_compile_definitions(sbx_test_tmp INTERFACE SBX_TEST_TMP="${SBX_TEST_TMP}")

# sbx_add_library(NAME SOURCES a.c ... [LIBS x ...] [INCLUDE dir ...])
# A static library of one module; its own include/ directory (if any) is public.
function(sbx_add_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS;INCLUDE" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
  target_include_directories(${name} PUBLIC ${A_INCLUDE})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${A_LIBS} PRIVATE sbx_flags)
endfunction()

# sbx_add_static(NAME SOURCES a.c ...)
# A static program of libexec/sbx/ that needs libc only and runs confined; never sanitized (its sources are, in their unit tests).
function(sbx_add_static name)
  cmake_parse_arguments(A "" "" "SOURCES" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/spec/include)
  target_link_libraries(${name} PRIVATE sbx_plain_flags)
  target_link_options(${name} PRIVATE -static)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${SBX_LIBEXEC_DIR})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/sbx)
endfunction()

# sbx_add_test(NAME SOURCES a.c ... [LIBS x ...] [LABELS unit|e2e ...] [ENV A=B ...] [DEPENDS target ...] [INCLUDE dir ...])
# One cmocka executable of a module, registered with CTest. Exit status 77 counts as skipped.
function(sbx_add_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS;LABELS;ENV;DEPENDS;INCLUDE" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_LIBS} PkgConfig::cmocka sbx_test_tmp sbx_flags)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${A_INCLUDE})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  target_compile_definitions(${name} PRIVATE SBX_TEST_DIR="${CMAKE_CURRENT_SOURCE_DIR}/tests"
    SBX_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SBX_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${SBX_TEST_TIMEOUT}
    FIXTURES_REQUIRED tmp ENVIRONMENT "${A_ENV}")
endfunction()

# sbx_add_script_test(NAME COMMAND x ... [LABELS ...] [LOCK name ...] [ORIGINS])
# An end-to-end test: a script that gets SBX_BIN and SBX_SOURCE_DIR, exits 77 (with a loud line) when it cannot run.
# ORIGINS: it talks to the test origins (scripts/fixture), which CTest then starts before it.
function(sbx_add_script_test name)
  cmake_parse_arguments(A "ORIGINS" "" "COMMAND;LABELS;LOCK;ENV" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT A_LABELS)
    set(A_LABELS e2e)
  endif()
  add_test(NAME ${name} COMMAND ${A_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" SKIP_RETURN_CODE 77
    TIMEOUT ${SBX_TEST_TIMEOUT} RESOURCE_LOCK "${A_LOCK}"
    FIXTURES_REQUIRED "tmp;$<$<BOOL:${A_ORIGINS}>:origins>"
    ENVIRONMENT "SBX_BIN=${CMAKE_BINARY_DIR}/bin/sbx;SBX_SOURCE_DIR=${CMAKE_SOURCE_DIR};TMPDIR=${SBX_TEST_TMP};${A_ENV}")
endfunction()

# sbx_add_fuzz(NAME SOURCES fuzz_x.c ... [LIBS x ...] CORPUS dir)
# With the fuzz preset a libFuzzer target; otherwise a program that replays the corpus as a test.
function(sbx_add_fuzz name)
  cmake_parse_arguments(A "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  if(NOT BUILD_TESTING AND NOT SBX_FUZZ)
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_LIBS} sbx_test_tmp sbx_flags)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  file(WRITE ${CMAKE_BINARY_DIR}/fuzz-corpora/${name} ${CMAKE_CURRENT_SOURCE_DIR}/${A_CORPUS}) # for scripts/soak.sh
  if(SBX_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/scripts/cmake/replay.c)
  endif()
  if(BUILD_TESTING)
    add_test(NAME ${name}_replay COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/${A_CORPUS})
    set_tests_properties(${name}_replay PROPERTIES LABELS "unit;fuzz" FIXTURES_REQUIRED tmp
      ENVIRONMENT "$<$<BOOL:${SBX_FUZZ}>:ASAN_OPTIONS=detect_leaks=1>")
  endif()
endfunction()
