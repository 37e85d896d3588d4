"""An oracle for functions of one binary32 number that shares nothing with the library: Taylor polynomials from ball arithmetic (Arb, by
python-flint) in integers. See __main__.py."""
