"""The functions, formats and instruction sets of which no input shows the error bound: elementwise/test_controls.py expects none."""

NO_BOUND = ["sqrt"]  # the machine's operation
# Instruction sets on which no input depends on the bounds, although all of f16 is run and the f32 cases are the hardest of all inputs: their
# evaluations happen to be closer. All inputs of f16 and f32 have been compared with the oracle, which shows the results; tests/controls/bounds.txt
# says what shows each bound. With AVX2 and AVX-512 binary32 evaluations come first.
EVERY = {"base", "avx2", "avx512"}
NO_INPUT = {
    **dict.fromkeys(
        [
            (f, "f16")
            for f in ("log2", "asin", "tanh", "atanh", "rsqrt", "exp10", "ndtri", "exp10m1", "sinpi", "cospi", "acospi")
        ],
        EVERY,
    ),
    **dict.fromkeys([("acosh", "f32"), ("cbrt", "f32")], EVERY),
    **dict.fromkeys([("rsqrt", "f32"), ("rsqrt", "f64"), ("cbrt", "f64")], {"base", "avx2"}),
    **dict.fromkeys([("log2", "f32"), ("log10", "f32")], {"base"}),
    # no bound (cbrt_b32_half.h, log_b32_half.h); the control is in elementwise/test_b32.py
    **dict.fromkeys([("cbrt", "f16"), ("log", "f16")], {"avx512"}),
}
