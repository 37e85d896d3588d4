"""Where each function is worth sampling in f64, family by family: neither saturated nor almost the identity, and where results
are subnormal or intermediate quantities could leave the range. For functions of several arguments: a box, one interval an
argument. The first entry is where the controls sample: no closed form there."""

SMALL = (-(2.0**-25), 2.0**-25)

RANGES = {
    # Exponentials.
    "exp": [(-600.0, 600.0), (-745.2, -700.0), (-700.0, -600.0), (600.0, 710.0), (-1.0, 1.0)],
    "exp2": [(-1000.0, 1000.0), (-1076.0, -1020.0), (1000.0, 1025.0), (-1.0, 1.0), (-(2.0**-10), 2.0**-10)],
    "exp10": [(-300.0, 300.0), (-324.0, -307.0), (300.0, 309.0), (-1.0, 1.0), (-(2.0**-10), 2.0**-10)],
    # Logarithms.
    "log": [(0.0, 100.0), (0.0, 4.0), (0.99, 1.01), (0.0, 2.0**-1021), (0.0, 2.0**1023)],
    # Trigonometric functions.
    # Inverse trigonometric functions.
    "asin": [(-1.0, 1.0), (0.4, 0.6), (0.999, 1.0), (-0.01, 0.01), SMALL],
    "acos": [(-1.0, 1.0), (0.4, 0.6), (0.999, 1.0), (-1.0, -0.999), (-0.01, 0.01), SMALL],
    "atan": [(-5.0, 5.0), (-100.0, 100.0), (0.9, 1.6), (-0.01, 0.01), (0.0, 2.0**60), (0.0, 2.0**1023), SMALL],
    # Hyperbolic functions.
    "tanh": [(-5.0, 5.0), (-20.0, 20.0), (-1.0, 1.0), (-0.01, 0.01), SMALL],
    # Inverse hyperbolic functions.
    # Error functions.
    "erf": [(-5.0, 5.0), (-6.0, 6.0), (-1.0, 1.0), (-0.01, 0.01), SMALL],
    "erfc": [(-5.0, 25.0), (25.0, 27.3), (-6.0, 6.0), (-1.0, 1.0), (3.9, 4.1), (-0.01, 0.01), (-(2.0**-52), 2.0**-52)],
    # Roots.
    # Activations.
    # Activations by the logarithm.
    # Activations by the error function.
    # Gradients.
    # Gradients by the error function.
    # Arithmetic.
    # Powers.
    "pow": [
        [(0.5, 8.0), (-8.0, 8.0)],
        [(0.0, 100.0), (-150.0, 150.0)],
        [(0.99, 1.01), (-60000.0, 60000.0)],
        [(0.0, 2.0**-1020), (-1.0, 1.05)],
        [(-10.0, 10.0), (-5.0, 5.0)],
    ],
    # The angle of a point.
    "atan2": [
        ((-5.0, 5.0), (-5.0, 5.0)),
        ((-0.01, 0.01), (-5.0, 5.0)),
        ((-5.0, 5.0), (-0.01, 0.01)),
        ((0.0, 2.0**-1021), (0.0, 2.0**-1021)),
        ((0.0, 2.0**-1021), (0.0, 4.0)),
        ((0.0, 2.0**-500), (0.0, 2.0**500)),
        ((0.0, 2.0**1022), (-(2.0**1022), 2.0**1022)),
    ],
}
