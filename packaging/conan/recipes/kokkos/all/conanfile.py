import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get

required_conan_version = ">=2.4"


class KokkosConan(ConanFile):
    name = "kokkos"
    description = "Performance-portable parallel execution and memory in C++"
    license = "Apache-2.0 WITH LLVM-exception"
    homepage = "https://kokkos.org"
    url = "https://github.com/conan-io/conan-center-index"
    topics = ("hpc", "parallel", "openmp", "cuda", "hip")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "openmp": [True, False],
        "cuda": [True, False],
        "rocm": [True, False],
        "architecture": [None, "ANY"],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "openmp": True,
        "cuda": False,
        "rocm": False,
        "architecture": None,
    }
    options_description = {
        "cuda": "The CUDA backend; compile Kokkos and programs with its bin/nvcc_wrapper",
        "rocm": "The HIP backend; compile Kokkos and programs with amdclang++ or hipcc",
        "architecture": "As in Kokkos_ARCH_…: HOPPER90, AMD_GFX90A, ZEN3, NATIVE",
    }
    implements = ["auto_shared_fpic"]

    def layout(self):
        cmake_layout(self, src_folder="src")

    def validate(self):
        check_min_cppstd(self, 17)
        if self.options.cuda and self.options.rocm:
            raise ConanInvalidConfiguration("one Kokkos has CUDA or ROCm: choose one of the options cuda and rocm")
        if (self.options.cuda or self.options.rocm) and not self.options.architecture:
            raise ConanInvalidConfiguration("a Kokkos for GPUs needs the option architecture: HOPPER90, AMD_GFX90A, …")
        if self.options.cuda and self.options.shared:
            raise ConanInvalidConfiguration("this recipe builds Kokkos with CUDA as static libraries alone")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        variables = toolchain.cache_variables
        variables["Kokkos_ENABLE_SERIAL"] = True
        variables["Kokkos_ENABLE_OPENMP"] = bool(self.options.openmp)
        variables["Kokkos_ENABLE_CUDA"] = bool(self.options.cuda)
        variables["Kokkos_ENABLE_HIP"] = bool(self.options.rocm)
        variables["Kokkos_ENABLE_TESTS"] = False
        if self.options.architecture:
            variables[f"Kokkos_ARCH_{self.options.architecture}"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "Copyright.txt", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    # Kokkos's own CMake package is used: it holds flags and checks of the compiler that depend on the backends.
    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("cmake_file_name", "Kokkos")
        self.cpp_info.set_property("cmake_target_name", "Kokkos::kokkos")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Kokkos")]
        self.cpp_info.libs = ["kokkoscontainers", "kokkosalgorithms", "kokkoscore", "kokkossimd"]
        self.cpp_info.system_libs = ["dl"]
