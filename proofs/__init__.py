"""Bounds that a machine checks: `python -m proofs.run`."""
