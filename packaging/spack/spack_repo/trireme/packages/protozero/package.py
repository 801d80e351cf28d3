# Copyright of the trireme contributors. See LICENSE.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Protozero(Package):
    """Minimalist reader and writer of protocol buffers, headers alone."""

    homepage = "https://github.com/mapbox/protozero"
    url = "https://github.com/mapbox/protozero/archive/refs/tags/v1.7.1.tar.gz"
    git = "https://github.com/mapbox/protozero.git"

    license("BSD-2-Clause AND Apache-2.0")

    version("1.7.1", sha256="27e0017d5b3ba06d646a3ec6391d5ccc8500db821be480aefd2e4ddc3de5ff99")

    def install(self, spec, prefix):
        install_tree("include", prefix.include)
