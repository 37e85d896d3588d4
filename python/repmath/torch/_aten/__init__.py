"""ATen operators as correctly rounded functions.

`operators.txt` says of each operator whether it only moves elements or what it rounds; the functions are in the modules here, by
the names that the table gives them. They take what ATen's operators take.
"""
