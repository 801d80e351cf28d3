#!/usr/bin/env python3
"""Checks that each public header, and each file of definitions (.ipp), includes, itself or through headers of trireme,
what declares the names it uses of the standard library and of the packages, and optional packages only where they are
switched on.

    scripts/check_includes.py [FOLDER]      default: include/

`scripts/check_headers.py` compiles each header behind the packages' headers, which hide such an include that is missing.
A name of the standard library that the table below lacks is an error too, and so is [[no_unique_address]]: CUDA 13's
compiler lays out a kernel's argument with such a member otherwise than the host's.
"""
import functools
import pathlib
import re
import sys

STANDARD = {
    "algorithm": """adjacent_find all_of any_of clamp copy copy_n count count_if equal fill fill_n find find_if is_sorted
        lower_bound max max_element min min_element mismatch nth_element replace set_union sort swap_ranges transform unique""",
    "any": "any any_cast",
    "array": "array",
    "atomic": """atomic atomic_flag atomic_ref memory_order memory_order_acq_rel memory_order_acquire
        memory_order_relaxed memory_order_release""",
    "bit": "bit_cast bit_width endian rotl",
    "cctype": "isalnum isdigit tolower",
    "charconv": "from_chars",
    "chrono": "chrono chrono_literals",
    "cmath": "abs ceil cos floor isfinite isinf isnan ldexp llround log pow rint round signbit sqrt trunc",
    "concepts": "constructible_from convertible_to derived_from floating_point integral invocable same_as unsigned_integral",
    "condition_variable": "condition_variable",
    "cstddef": "byte nullptr_t ptrdiff_t size_t",
    "cstdint": "int32_t int64_t uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t",
    "cstdio": "FILE fclose ferror fflush fopen fprintf fread fwrite rename",
    "cstdlib": "_Exit abort abs aligned_alloc at_quick_exit atexit free getenv",
    "cstring": "memcmp memcpy memset strcpy strerror strlen",
    "ctime": "strftime time time_t timespec",
    "exception": """current_exception exception exception_ptr get_terminate rethrow_exception set_terminate terminate
        terminate_handler uncaught_exceptions""",
    "filesystem": "filesystem",
    "fstream": "ifstream",
    "functional": "function invoke less multiplies not_equal_to reference_wrapper",
    "initializer_list": "initializer_list",
    "ios": "ios streamoff streamsize",
    "iostream": "cout",
    "iterator": "istreambuf_iterator prev",
    "limits": "numeric_limits",
    "map": "map",
    "memory": """enable_shared_from_this make_shared make_shared_for_overwrite make_unique make_unique_for_overwrite shared_ptr
        unique_ptr weak_ptr""",
    "mutex": "lock_guard mutex scoped_lock try_to_lock unique_lock",
    "new": "bad_alloc",
    "numbers": "numbers",
    "numeric": "accumulate gcd iota",
    "optional": "nullopt optional",
    "ranges": "ranges",
    "set": "multiset set",
    "span": "span",
    "stdexcept": "length_error runtime_error",
    "string": "getline stoull string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code",
    "thread": "this_thread thread",
    "tuple": "apply make_tuple tie tuple tuple_cat tuple_element_t tuple_size_v",
    "type_traits": """bool_constant common_type_t conditional_t decay_t false_type integral_constant invoke_result_t
        is_arithmetic_v is_class_v is_const_v is_constant_evaluated is_convertible_v is_default_constructible_v
        is_empty_v is_enum_v is_final_v is_floating_point_v is_function_v is_integral_v is_invocable_r_v is_invocable_v
        is_lvalue_reference_v is_pointer_v is_reference_v is_same_v is_signed_v is_trivially_copyable_v is_void_v
        remove_const_t remove_cv_t remove_cvref_t remove_pointer_t remove_reference_t true_type type_identity
        underlying_type_t""",
    "utility": """as_const cmp_equal cmp_greater_equal cmp_less_equal declval exchange forward index_sequence
        index_sequence_for make_index_sequence move pair swap""",
    "vector": "erase erase_if vector",
}
# Headers that declare names of another one, by the standard.
ALSO = {
    "cmath": ["cstdlib"],  # std::abs
    "ranges": ["algorithm"],  # std::ranges::sort
    "ios": ["fstream", "iostream"],
    "string": ["fstream"],
    "utility": ["tuple", "map"],
    "cstdint": ["atomic"],
}
ANYWHERE = {"get"}  # of array, tuple, utility and variant
PACKAGES = {  # pattern -> beginnings of includes of which one is needed
    r"\bKokkos::": ("Kokkos_",),
    r"\bKOKKOS_[A-Z]": ("Kokkos_",),
    r"\bMPI_[A-Z]": ("mpi.h",),
    r"\bfmt::": ("fmt/",),
    r"\bfmt::join\b": ("fmt/ranges.h",),  # since fmt 11
    r"\bxt::": ("xtensor/",),
    r"\bcblas_|\bCblas": ("xflens/", "cblas.h"),
    r"\bH5[A-Z]+[a-z]": ("hdf5.h",),
    r"\bprotozero::": ("protozero/",),
    r"\bomp_[a-z]": ("omp.h",),
}
OPTIONAL = {  # beginnings of includes -> the macro that switches them on; headers in pjrt need their packages
    "hdf5.h": "TRIREME_HAVE_HDF5",
    "zlib.h": "TRIREME_HAVE_ZLIB",
    "protozero/": "TRIREME_HAVE_PROTOZERO",
    "cublas": "TRIREME_HAVE_CUBLAS",
    "cublasLt": "TRIREME_HAVE_CUBLASLT",
    "cudnn": "TRIREME_HAVE_CUDNN",
    "rocblas/": "TRIREME_HAVE_ROCBLAS",
}

header_of = {name: header for header, names in STANDARD.items() for name in names.split()}
header_of["abs"] = "cmath"


def code_of(text):
    """Without comments, strings and lines of the preprocessor."""
    text = re.sub(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/", "", text)
    return re.sub(r"^[ \t]*#[ \t]*(?:include|if|elif|ifdef|ifndef)[^\n]*", "", text, flags=re.M)


def optional_includes(text):
    """Includes of optional packages that are compiled without their macro, as (include, macro)."""
    conditions = []
    for directive, rest in re.findall(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif|include)\b(.*)", text, re.M):
        if directive in ("if", "ifdef", "ifndef"):
            conditions.append(rest if directive != "ifndef" else "")
        elif directive in ("elif", "else"):
            conditions[-1] = rest if directive == "elif" else ""
        elif directive == "endif":
            conditions.pop()
        else:
            for beginning, macro in OPTIONAL.items():
                if rest.strip().startswith(f"<{beginning}") and not any(macro in condition for condition in conditions):
                    yield rest.strip(), macro


def check(folder):
    headers = {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.[hi]pp"))}
    own = {name: [i for i in re.findall(r'^#include "([^"]+)"', text, re.M) if i in headers]
           for name, text in headers.items()}
    others = {name: set(re.findall(r"^[ \t]*#[ \t]*include <([^>]+)>", text, re.M)) for name, text in headers.items()}

    @functools.cache
    def reached(name):
        seen, todo = set(), [name]
        while todo:
            header = todo.pop()
            if header in seen:
                continue
            seen.add(header)
            todo += own[header]
        return frozenset().union(*(others[header] for header in seen))

    errors = []
    for name, text in headers.items():
        if not name.startswith("trireme/pjrt"):
            errors += [f"{name}: #include {header} outside of #ifdef {macro}" for header, macro in optional_includes(text)]
        code, there = code_of(text), reached(name)
        for used in sorted(set(re.findall(r"\bstd::([A-Za-z_0-9]+)", code))):
            if used in ANYWHERE:
                continue
            header = header_of.get(used)
            if header is None:
                errors.append(f"{name}: std::{used} is not in the table of {sys.argv[0]}")
            elif not there & {header, *ALSO.get(header, ())}:
                errors.append(f"{name}: std::{used} without #include <{header}>")
        if "no_unique_address" in code:
            errors.append(f"{name}: [[no_unique_address]], for which CUDA's compiler leaves no room in a kernel's argument")
        for pattern, beginnings in PACKAGES.items():
            if re.search(pattern, code) and not any(i.startswith(beginnings) for i in there):
                errors.append(f"{name}: {re.search(pattern, code).group()} without #include <{beginnings[0]}…>")
    return len(headers), errors


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "include")
count, errors = check(folder)
print("\n".join(errors[:50]) or f"{count} headers include what they use")
sys.exit(bool(errors))
