# Target dist: one relocatable archive of the tools, for any x86-64 Linux with
# glibc 2.36 or newer.
#
#   build/release/mla-jit-<version>-x86_64-linux.tar.xz
#     mla-jit-<version>-x86_64-linux/bin/{mla-opt,mla-jit}
#     mla-jit-<version>-x86_64-linux/{README.md,LICENSE}
#     mla-jit-<version>-x86_64-linux/licenses/   of what is linked in
#
# Only a static build can be shipped; scripts/check-dist.sh checks the result.

set(MLA_DIST_NAME "mla-jit-${PROJECT_VERSION}-x86_64-linux")
set(MLA_DIST_ARCHIVE "${CMAKE_BINARY_DIR}/${MLA_DIST_NAME}.tar.xz")

if(NOT MLA_LINK_STATIC)
  add_custom_target(dist
    COMMAND "${CMAKE_COMMAND}" -E echo
      "dist requires a static build: cmake --preset release && cmake --build --preset release --target dist"
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
  return()
endif()

set(MLA_DIST_TOOLS mla-opt mla-jit)
set(MLA_DIST_FILES)
set(MLA_DIST_BIN)
foreach(tool ${MLA_DIST_TOOLS})
  list(APPEND MLA_DIST_FILES "$<TARGET_FILE:${tool}>")
  list(APPEND MLA_DIST_BIN "bin/${tool}")
endforeach()

# Code of these packages ends up in the tools, and their licences ask to be
# passed on with it.
set(MLA_DIST_LICENSES)
foreach(package llvm-${MLA_LLVM_MAJOR}-dev libzstd-dev zlib1g-dev libstdc++-12-dev)
  if(EXISTS "/usr/share/doc/${package}/copyright")
    list(APPEND MLA_DIST_LICENSES COMMAND "${CMAKE_COMMAND}" -E copy
      "/usr/share/doc/${package}/copyright" "licenses/${package}.txt")
  endif()
endforeach()

find_program(MLA_STRIP llvm-strip HINTS "${LLVM_TOOLS_BINARY_DIR}" REQUIRED)
set(MLA_DIST_STAGE "${CMAKE_BINARY_DIR}/dist/${MLA_DIST_NAME}")
file(MAKE_DIRECTORY "${MLA_DIST_STAGE}")

# Names, owners and times are fixed, so that equal tools give an equal archive.
add_custom_command(OUTPUT "${MLA_DIST_ARCHIVE}"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf bin licenses
  COMMAND "${CMAKE_COMMAND}" -E make_directory bin licenses
  COMMAND "${CMAKE_COMMAND}" -E copy ${MLA_DIST_FILES} bin
  COMMAND "${MLA_STRIP}" --strip-all ${MLA_DIST_BIN}
  COMMAND "${CMAKE_COMMAND}" -E copy
    "${CMAKE_SOURCE_DIR}/README.md" "${CMAKE_SOURCE_DIR}/LICENSE" .
  ${MLA_DIST_LICENSES}
  COMMAND "${CMAKE_COMMAND}" -E env "XZ_OPT=-6 -T2"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=2000-01-01 --mode=u+rwX,go+rX,go-w
      -C .. -cJf "${MLA_DIST_ARCHIVE}" "${MLA_DIST_NAME}"
  DEPENDS ${MLA_DIST_TOOLS} "${CMAKE_SOURCE_DIR}/README.md" "${CMAKE_SOURCE_DIR}/LICENSE"
  WORKING_DIRECTORY "${MLA_DIST_STAGE}"
  COMMENT "Packing ${MLA_DIST_NAME}.tar.xz"
  VERBATIM)
add_custom_target(dist DEPENDS "${MLA_DIST_ARCHIVE}")
