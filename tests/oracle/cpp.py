# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A C++ program: mangled names, virtual methods, libstdc++ inside. Exceptions
through functions with return probes kill it under the kernel's uprobes; so
these functions get entry probes only here (the rest: tests/integ/cpp_exceptions.sh)."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare, fixture  # noqa: E402

if __name__ == "__main__":
    f = fixture("cpp_app")
    lib = oracle.private(oracle.mapped_library(f, "libstdc++.so.6"), "libstdc++.so.6")
    env = {"LD_LIBRARY_PATH": os.getcwd()}
    app = [
        f"p:square {f}:_ZNK6Square4areaEl side=+8(%di):s64 scale=%si:s64",
        f"r:square_ret {f}:_ZNK6Square4areaEl $retval:s64",
        f"p:circle {f}:_ZNK6Circle4areaEl radius=+8(%di):s64 vtable=+0(%di)",
        f"r:circle_ret {f}:_ZNK6Circle4areaEl%return $retval:s64",
        f"p:c_entry {f}:c_entry n=%di:s64 text=+0(%si):string",
        f"r:c_entry_ret {f}:c_entry $retval:s64",
        *(f"p:{n} {f}:{n} n=%di:s64 %sp" for n in ("outer", "middle", "thrower", "catcher", "rethrower")),
    ]
    stl = [
        f"p:new {lib}:_Znwm size=%di:u64",
        f"r:new_ret {lib}:_Znwm $retval",
        f"p:delete {lib}:_ZdlPv p=%di",
        f"p:throw {lib}:__cxa_throw obj=%di",
        f"p:alloc {lib}:__cxa_allocate_exception size=%di:u64",
        f"r:alloc_ret {lib}:__cxa_allocate_exception $retval",
        f"p:begin {lib}:__cxa_begin_catch",
        f"r:begin_ret {lib}:__cxa_begin_catch $retval",
        f"p:end {lib}:__cxa_end_catch",
    ]
    oracle.done([compare(app, [f]), compare(stl, [f], title="cpp_app, libstdc++", env=env),
                 compare(app + stl, [f], title="cpp_app, both", env=env)])
