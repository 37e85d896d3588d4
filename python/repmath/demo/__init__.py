"""`make demo`: train one network on several instruction sets, with repmath and with NumPy, and compare the bits."""
