"""Which files of the repository its own rules read (tests/repository)."""

SOURCES = ("crlibm", "src", "include", "python", "tools", "tests", "proofs", "examples", "cmake", "bench", "conformance")
C_SUFFIXES = (".h", ".c", ".inl", ".inc", ".cu", ".cuh", ".def")
