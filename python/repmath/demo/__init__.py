"""`make demo`: two trainings on several instruction sets and thread counts, with repmath in NumPy, PyTorch and JAX and with PyTorch
alone; one SHA-256 of the weights against several. The scripts are those of examples/python."""
