"""Exact gradients: the gradient of a leaf is one exact sum over all of its terms, rounded once (docs/spec.md, section 8).

`records.py` has the sums that are not made yet, and makes them; `graph.py` knows which nodes of a backward pass lead to a leaf, and refuses
what would round on the way; `gradients.py` defers the operators of a backward pass and writes the gradients at its end.
"""
