# An overlay port that builds the tree it lies in: vcpkg install iclmech --overlay-ports=ports
cmake_path(GET CURRENT_PORT_DIR PARENT_PATH ports)
cmake_path(GET ports PARENT_PATH SOURCE_PATH)

set(VCPKG_BUILD_TYPE release) # headers only

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DICLMECH_BUILD_TESTS=OFF
    -DICLMECH_BUILD_EXAMPLES=OFF
    -DICLMECH_BUILD_TOOLS=OFF
    -DICLMECH_BUILD_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/iclmech)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
