"""Syntax trees as text, for digests: the same from every version of Python. ast.dump writes empty fields in some versions only,
and newer ones have fields that older ones lack."""

import ast


def dumped(node: object) -> str:
    """A tree without comments, layout, docstrings and fields that are empty."""
    if isinstance(node, ast.AST):
        fields = [f"{name}={dumped(value)}" for name, value in ast.iter_fields(node) if value is not None and value != []]
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(dumped(part) for part in node if not _is_docstring(part))}]"
    return repr(node)


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
