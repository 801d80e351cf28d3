import os
import re

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get, load, save
from conan.tools.layout import basic_layout
from conan.tools.scm import Git, Version

required_conan_version = ">=2.4"


class TriremeConan(ConanFile):
    name = "trireme"
    description = "Training of neural networks inside C++ programs that run on Kokkos and MPI"
    license = "Apache-2.0 WITH LLVM-exception"
    url = "https://github.com/conan-io/conan-center-index"
    topics = ("neural-networks", "training", "machine-learning", "hpc", "kokkos", "mpi", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True
    options = {
        "hdf5": [True, False],
        "zlib": [True, False],
        "protozero": [True, False],
        "pjrt": [True, False],
        "cuda": [True, False],
        "rocm": [True, False],
    }
    default_options = {
        "hdf5": True,
        "zlib": True,
        "protozero": True,
        "pjrt": False,
        "cuda": False,
        "rocm": False,
        "xtensor/*:xsimd": False,  # trireme has vectors of its own
    }
    options_description = {
        "hdf5": "Keras's .weights.h5 files",
        "zlib": "Reading of gzipped data",
        "protozero": "Event files for TensorBoard",
        "pjrt": "Training as one compiled program on TPUs and other PJRT devices",
        "cuda": "A Kokkos with CUDA; programs are compiled by its nvcc_wrapper",
        "rocm": "A Kokkos with HIP",
    }

    @property
    def _min_compilers(self):
        return {"gcc": "12", "clang": "17"}

    # Without an archive in conandata.yml, as Conan Center has one for each release, sources and version are those of the
    # checkout that holds this recipe.
    @property
    def _archive(self):
        return (self.conan_data or {}).get("sources", {}).get(self.version)

    @property
    def _project(self):
        return os.path.join(self.recipe_folder, *[".."] * 5)

    def set_version(self):
        if self.version:
            return
        header = load(self, os.path.join(self._project, "include", "trireme", "version.hpp"))
        parts = ("MAJOR", "MINOR", "PATCH")
        self.version = ".".join(re.search(rf"TRIREME_VERSION_{part} (\d+)", header)[1] for part in parts)

    def export_sources(self):
        if self._archive:
            return
        copy(self, "LICENSE", self._project, self.export_sources_folder)
        copy(self, "*.[hi]pp", os.path.join(self._project, "include"), os.path.join(self.export_sources_folder, "include"))
        # As CMake writes it, for trireme::build_information(); options are those of each consumer's graph.
        commit = ""
        if os.path.exists(os.path.join(self._project, ".git")):
            try:
                commit = Git(self, self._project).run("describe --always --dirty --abbrev=40 '--exclude=*'")
            except ConanException:
                self.output.warning("git cannot say the commit of the sources")
        save(
            self,
            os.path.join(self.export_sources_folder, "include", "trireme", "configured.hpp"),
            f'#pragma once\n\n#define TRIREME_CONFIGURED_COMMIT "{commit}"\n'
            '#define TRIREME_CONFIGURED_OPTIONS "package of Conan"\n',
        )

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        kokkos = {"openmp": not (self.options.cuda or self.options.rocm)}
        kokkos |= {"cuda": self.options.cuda, "rocm": self.options.rocm}
        self.requires("kokkos/[>=4.1 <6]", options=kokkos)
        self.requires("mpi/[>=3.1]")
        self.requires("xtensor/[>=0.24 <0.26]")
        self.requires("xtensor-blas/[>=0.20 <0.21]")
        self.requires("openblas/[>=0.3.20 <1]")
        self.requires("fmt/[>=9 <12]")
        if self.options.hdf5:
            self.requires("hdf5/[>=1.10 <2]")
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]")
        if self.options.protozero:
            self.requires("protozero/[>=1.7 <2]")
        if self.options.pjrt:
            self.requires("pjrt-c-api/[>=0.40 <1]")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        compiler = str(self.settings.compiler)
        minimum = self._min_compilers.get(compiler)
        if minimum and Version(self.settings.compiler.version) < minimum:
            found = self.settings.compiler.version
            raise ConanInvalidConfiguration(f"{self.ref} needs {compiler} {minimum} or newer, not {found}")
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} has been tried on Linux alone, not on {self.settings.os}")
        if self.options.cuda and self.options.rocm:
            raise ConanInvalidConfiguration("one Kokkos has CUDA or ROCm: choose one of the options cuda and rocm")
        if self.options.pjrt and not self.options.protozero:
            raise ConanInvalidConfiguration("the option pjrt needs the option protozero, which writes its messages")

    def source(self):
        if self._archive:
            get(self, **self._archive, strip_root=True)
        else:
            copy(self, "*", self.export_sources_folder, self.source_folder, excludes="src/*")

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.[hi]pp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "trireme")
        self.cpp_info.set_property("cmake_target_name", "trireme::trireme")
        self.cpp_info.set_property("pkg_config_name", "trireme")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        for feature in ("hdf5", "zlib", "protozero", "pjrt"):
            if self.options.get_safe(feature):
                self.cpp_info.defines.append(f"TRIREME_HAVE_{feature.upper()}")
        if self.options.cuda:
            self.cpp_info.defines += ["TRIREME_HAVE_CUBLAS", "TRIREME_HAVE_CUBLASLT"]
            self.cpp_info.system_libs += ["cublas", "cublasLt"]
            if Version(self.dependencies["fmt"].ref.version) < 11:  # which calls ordinary functions in consteval ones
                self.cpp_info.defines.append("FMT_USE_CONSTEXPR=1")
        self.cpp_info.system_libs.append("pthread")
        if self.options.pjrt:
            self.cpp_info.system_libs.append("dl")
