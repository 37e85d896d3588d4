"""The speeds aimed at: ratios of repmath's time to another library's."""

FUNCTIONS = ("exp", "log", "tanh", "erf")


def targets(isa):
    """case -> list of (other library, largest ratio), for results of this instruction set."""
    found = {}
    isa = "avx512" if isa in ("amx", "avx512bf16") else isa
    against_numpy = {"exp": 1.3, "log": 1.6} if isa == "avx512" else {"exp": 1.8, "log": 1.8}
    for size in ("16 Ki", "4 Mi"):
        for f in FUNCTIONS:
            found[f"{f} f32 {size}"] = [("NumPy", against_numpy[f])] if f in against_numpy else []
            if isa == "avx512" or f not in against_numpy:
                found[f"{f} f32 {size}"].append(("PyTorch", 1.0))
            if isa == "avx512":
                found[f"{f} f64 {size}"] = [("NumPy", 1.6)] if f in against_numpy else [("PyTorch", 1.0)]
    for threads in ("1 thread", "2 threads"):
        # NumPy: with OpenBLAS's AVX2 kernels, as OPENBLAS_CORETYPE=Haswell chooses them where it does not by itself.
        for shape in ("512^3", "1024^3", "2048^3", "4096^3", "4096x768x3072"):
            at_least = {"NumPy": 0.95, "NumPy, AVX-512 kernels": 0.48, "PyTorch": 1.0} if isa == "avx512" else {"NumPy": 0.45}
            found[f"matmul f32 {shape}, {threads}"] = [(other, 1 / speed) for other, speed in at_least.items()]
        found[f"matmul f64 1024^3, {threads}"] = [("NumPy", 5.0)]
    for what in ("integers", "after ReLU", "128 lines of 65536"):
        found[f"matmul f32 1024^3, {what}"] = [("Gaussian data", 1.3)]
    for fmt in ("f16", "bf16"):
        found[f"matmul {fmt} 1024^3, 1 thread"] = [("repmath f32", 1 / 0.7)]
    for what in ("conv2d", "conv2d_grad_input", "conv2d_grad_weight"):
        found[f"{what} f32, ResNet-50, geometric mean"] = [("PyTorch", 1 / 0.4)]
    for case in (
        "random uniform f32, 64 Ki",
        "random normal f32, 64 Ki",
        "dropout f32, p = 0.1, 64 Ki",
        "dropout f32, p = 0.5, 64 Ki",
    ):
        found[case] = [("PyTorch", 1.0)]
    for threads in ("1 thread", "2 threads"):
        found[f"operators f32, {threads}, geometric mean"] = [("PyTorch", 2.5)]
        for name, limit in (("LeNet 100x1x28x28", 2.5), ("ResNet-18 32x3x32x32", 2.5), ("GPT-2 4 layers of 256, 8x128", 3.0)):
            found[f"training step, {name}, {threads}"] = [("PyTorch", limit)]
        found[f"Adam step f32 1e7 parameters, {threads}"] = [("PyTorch", 1.5)]
        for what in ("softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"):
            for name in (what, f"{what}_backward"):
                found[f"{name} f32 4096x1024, {threads}"] = [("PyTorch", 4.0)]
    for name in ("LeNet 100x1x28x28", "ResNet-18 32x3x32x32", "GPT-2 4 layers of 256, 8x128"):
        found[f"peak memory of a training step, {name}"] = [("PyTorch", 1.3)]
    found["stochastic matmul f32 1024^3"] = [("nearest", 1 / 0.93)]
    found["stochastic AdamW bf16 1e7 parameters"] = [("PyTorch", 0.5)]
    for name in ("LeNet 100x1x28x28", "ResNet-18 32x3x32x32", "GPT-2 4 layers of 256, 8x128"):
        found[f"stochastic training step, {name}"] = [("reproducible", 1.5), ("PyTorch", 3.0)]
    for mode, limit in (("stochastic", 1.25), ("up_down", 1.15)):
        found[f"{mode} training steps, geometric mean"] = [("reproducible", limit)]
    for fmt in ("f32", "f64"):
        for what in ("sum", "dot"):
            found[f"{what} {fmt} 1e5"], found[f"{what} {fmt} 1e7"] = [("NumPy", 2.0)], [("NumPy", 1.1)]
    found["call exp, 1 element"] = found["call matmul f32 8x8"] = [("NumPy", 2.0)]
    return found


def judge(results, isa):
    """Each result with `targets`: other library -> (largest ratio, met)."""
    table = targets(isa)
    for result in results:
        result["targets"] = {
            other: {"at most": limit, "met": result["ratio"][other] <= limit}
            for other, limit in table.get(result["case"], [])
            if other in result["ratio"]
        }
    return results
