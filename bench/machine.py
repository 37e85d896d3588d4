"""Describes what a result depends on: the CPU, the libraries and their settings."""

import os
import platform

import numpy as np

import repmath


def cpu_model():
    """The CPU's name, with family and model, since virtual machines give vague names."""
    fields = {}
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                key, _, value = line.partition(":")
                fields.setdefault(key.strip(), value.strip())
                if not line.strip():
                    break
    except OSError:
        pass
    if "model name" not in fields:
        return platform.processor() or platform.machine()
    return f"{fields['model name']} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})"


def describe():
    from threadpoolctl import threadpool_info

    info = {
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "isa": repmath.config()["isa"],
        "compiler": repmath.config()["compiler"],
        "versions": {"repmath": repmath.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "blas": next(
            (
                f"{i['internal_api']} {i.get('version')} {i.get('architecture')}"
                for i in threadpool_info()
                if i["user_api"] == "blas"
            ),
            "unknown",
        ),
        "environment": {
            name: os.environ[name]
            for name in (
                "REPMATH_ISA",
                "NPY_DISABLE_CPU_FEATURES",
                "ATEN_CPU_CAPABILITY",
                "MKL_ENABLE_INSTRUCTIONS",
                "OPENBLAS_CORETYPE",
            )
            if name in os.environ
        },
    }
    for name in ("scipy", "torch", "ml_dtypes"):
        try:
            info["versions"][name] = __import__(name).__version__
        except ImportError:
            pass
    return info
