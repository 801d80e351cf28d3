# Conan 2 recipe: `conan create packaging/conan`. Kokkos and MPI come from the system, where clusters have theirs; give
# the place of Kokkos with Kokkos_ROOT. xtensor-blas is not in Conan Center either, and is found like them.
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class Trireme(ConanFile):
    name = "trireme"
    version = "0.1.0"
    license = "Apache-2.0 WITH LLVM-exception"
    description = "Training of neural networks inside C++ programs that run on Kokkos and MPI: header-only C++20"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"

    def export_sources(self):
        source = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*"):
            copy(self, pattern, source, self.export_sources_folder)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"TRIREME_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_id(self):
        self.info.clear()

    def package_info(self):  # consumers use the CMake package that is installed
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "trireme")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
