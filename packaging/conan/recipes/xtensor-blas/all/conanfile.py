import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout

required_conan_version = ">=2.4"


class XtensorBlasConan(ConanFile):
    name = "xtensor-blas"
    description = "BLAS and LAPACK for xtensor"
    license = "BSD-3-Clause"
    homepage = "https://github.com/xtensor-stack/xtensor-blas"
    url = "https://github.com/conan-io/conan-center-index"
    topics = ("blas", "lapack", "xtensor", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        self.requires("xtensor/[>=0.24 <0.26]")
        self.requires("openblas/[>=0.3.20 <1]")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 14)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "xtensor-blas")
        self.cpp_info.set_property("cmake_target_name", "xtensor-blas")
        self.cpp_info.set_property("pkg_config_name", "xtensor-blas")
        self.cpp_info.defines = ["HAVE_CBLAS=1"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
