"""Conan 2 recipe: conan create . (headers only; each component is an option)."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout

# Component -> what it needs, as Conan packages and as targets.
COMPONENTS = {
    "xtensor": {"packages": ["xtensor/0.24.7"], "needs": ["core", "xtensor::xtensor"]},
    "io": {
        "packages": ["nlohmann_json/3.11.3", "pcre2/10.42", "utf8proc/2.8.0"],
        "needs": ["core", "nlohmann_json::nlohmann_json", "pcre2::pcre2", "utf8proc::utf8proc"],
    },
    "report": {
        "packages": ["fmt/10.2.1", "nlohmann_json/3.11.3"],
        "needs": ["core", "fmt::fmt", "nlohmann_json::nlohmann_json"],
    },
    "testing": {"packages": ["gtest/1.14.0"], "needs": ["core", "gtest::gtest"]},
}


class IclmechConan(ConanFile):
    name = "iclmech"
    license = "MIT"
    description = "Which heads do in-context learning, and how, in any inference engine"
    topics = ("interpretability", "in-context-learning", "header-only")
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    options = {component: [True, False] for component in COMPONENTS}
    default_options = {component: False for component in COMPONENTS}
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "LICENSE"
    no_copy_source = True

    def set_version(self):
        header = (Path(self.recipe_folder) / "include/iclmech/version.hpp").read_text(encoding="utf-8")
        parts = (re.search(rf"ICLMECH_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
        self.version = ".".join(parts)

    def requirements(self):
        self.requires("eigen/3.4.0")
        packages = {p for name, c in COMPONENTS.items() if self.options.get_safe(name) for p in c["packages"]}
        for package in sorted(packages):
            self.requires(package)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "TOOLS", "BENCHMARKS"):
            toolchain.cache_variables[f"ICLMECH_BUILD_{part}"] = False
        toolchain.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install(component="development")

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "iclmech")
        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "iclmech::iclmech")
        core.requires = ["eigen::eigen"]
        for name, component in COMPONENTS.items():
            if self.options.get_safe(name):
                self.cpp_info.components[name].set_property("cmake_target_name", f"iclmech::{name}")
                self.cpp_info.components[name].requires = component["needs"]
