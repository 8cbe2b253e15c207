# LLVM and MLIR: the version check, compile settings and the two ways to link.
#
#   mla-mlir   an interface library that brings MLIR and LLVM, either as the
#              two shared libraries (fast to link: dev, asan, ci) or as the
#              static archives (self-contained: release, dist), never both.
#   mla-llvm   the same for code that needs LLVM only.

set(MLA_LLVM_MAJOR 22)
set(MLA_ASKED_MLIR_DIR "${MLIR_DIR}")
# The version is part of the request, so that a config file of another version
# is passed over unread: it may refer to files that are not there. An MLIR_DIR
# of another version is an error, not a reason to look elsewhere.
find_package(MLIR ${MLA_LLVM_MAJOR}.1 QUIET CONFIG
  HINTS "/usr/lib/llvm-${MLA_LLVM_MAJOR}/lib/cmake/mlir")
list(TRANSFORM MLIR_CONSIDERED_VERSIONS REPLACE "^${MLA_LLVM_MAJOR}\\.1\\..*" "fit"
  OUTPUT_VARIABLE MLA_CONSIDERED)
list(FIND MLA_CONSIDERED fit MLA_FIRST_FIT)
if((MLA_ASKED_MLIR_DIR OR NOT MLIR_FOUND) AND MLIR_CONSIDERED_VERSIONS AND NOT MLA_FIRST_FIT EQUAL 0)
  list(GET MLIR_CONSIDERED_VERSIONS 0 found)
  list(GET MLIR_CONSIDERED_CONFIGS 0 config)
  set(MLIR_DIR "${MLA_ASKED_MLIR_DIR}" CACHE PATH "The directory of MLIRConfig.cmake" FORCE)
  message(FATAL_ERROR "mla-jit requires LLVM/MLIR ${MLA_LLVM_MAJOR}.1, but found ${found} in ${config}")
endif()
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "mla-jit requires LLVM/MLIR ${MLA_LLVM_MAJOR}.1, but found none: "
    "run scripts/install-dependencies.sh, or point MLIR_DIR at lib/cmake/mlir of an installation")
endif()
if(NOT LLVM_ENABLE_RTTI)
  message(FATAL_ERROR "mla-jit requires an LLVM built with RTTI, "
    "but ${LLVM_DIR} (${LLVM_PACKAGE_VERSION}) was built without it")
endif()
if(NOT LLVM_ENABLE_ZSTD)
  message(FATAL_ERROR "mla-jit requires an LLVM built with zstd, which compresses cached kernels, "
    "but ${LLVM_DIR} (${LLVM_PACKAGE_VERSION}) was built without it")
endif()
if(MLA_LINK_STATIC)
  # The exported MLIR targets bring libLLVM.so with them, so the archives are
  # named as files. lld takes archives in any order and only what is used.
  file(GLOB MLA_MLIR_ARCHIVES "${LLVM_LIBRARY_DIR}/libMLIR*.a")
  list(FILTER MLA_MLIR_ARCHIVES EXCLUDE REGEX "MLIR(CAPI|Test)|TestPasses|TestDialect")
  file(GLOB MLA_LLVM_ARCHIVES "${LLVM_LIBRARY_DIR}/libLLVM*.a")
  if(NOT MLA_MLIR_ARCHIVES OR NOT MLA_LLVM_ARCHIVES)
    message(FATAL_ERROR "MLA_LINK_STATIC=ON requires static archives libMLIR*.a and libLLVM*.a, "
      "but ${LLVM_LIBRARY_DIR} has none of one or both")
  endif()
elseif(NOT TARGET MLIR OR NOT TARGET LLVM)
  message(FATAL_ERROR "MLA_LINK_STATIC=OFF requires the shared libraries libMLIR.so and libLLVM.so, "
    "but ${LLVM_DIR} (${LLVM_PACKAGE_VERSION}) has none of one or both")
endif()
message(STATUS "LLVM/MLIR ${LLVM_PACKAGE_VERSION} in ${LLVM_INSTALL_PREFIX}")

set(MLIR_TABLEGEN_EXE mlir-tblgen)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(MLA_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${MLA_LLVM_DEFINITIONS})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

add_library(mla-llvm INTERFACE)
add_library(mla-mlir INTERFACE)
if(MLA_LINK_STATIC)
  find_library(MLA_ZLIB libz.a REQUIRED)
  find_library(MLA_ZSTD libzstd.a REQUIRED)
  target_link_libraries(mla-llvm INTERFACE ${MLA_LLVM_ARCHIVES} ${MLA_ZLIB} ${MLA_ZSTD} m dl pthread)
  target_link_libraries(mla-mlir INTERFACE ${MLA_MLIR_ARCHIVES} mla-llvm)
  target_link_options(mla-llvm INTERFACE -Wl,--as-needed -static-libstdc++ -static-libgcc)
else()
  target_link_libraries(mla-llvm INTERFACE LLVM)
  target_link_libraries(mla-mlir INTERFACE MLIR LLVM)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Asan")
  # Into every program that is linked from here on.
  add_library(mla-asan-options OBJECT "${CMAKE_CURRENT_LIST_DIR}/AsanOptions.cpp")
  link_libraries("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:mla-asan-options>")
endif()
