# What is installed for host applications: the library, its two headers, a CMake
# package (target mla_jit::mla_jit) and a pkg-config file. The package may be
# moved after it was installed, unless its directories are absolute.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(MLA_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/mla_jit")
install(TARGETS mla_jit EXPORT mla_jitTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES
  "${CMAKE_CURRENT_LIST_DIR}/../runtime/include/mla_jit/mla_jit.h"
  "${CMAKE_CURRENT_LIST_DIR}/../runtime/include/mla_jit/mla_jit.hpp"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/mla_jit")
install(EXPORT mla_jitTargets NAMESPACE mla_jit:: DESTINATION "${MLA_PACKAGE_DIR}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/mla_jitConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/mla_jitConfig.cmake" INSTALL_DESTINATION "${MLA_PACKAGE_DIR}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/mla_jitConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/mla_jitConfig.cmake" "${CMAKE_BINARY_DIR}/mla_jitConfigVersion.cmake"
  DESTINATION "${MLA_PACKAGE_DIR}")

# The file names directories by where it is itself.
file(RELATIVE_PATH MLA_PC_TO_INCLUDES
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/mla_jit.pc.in" "${CMAKE_BINARY_DIR}/mla_jit.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/mla_jit.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
