"""The conformance suite: inputs of the specification's operations with the bits that it asks for, run against any library.

`python -m conformance --library numpy` is the command; docs/conformance.md says how to bring a library of one's own. Nothing here
imports repmath unless it is the library that is run."""

SUITE = 1  # changes with the cases, so that two reports of one number are of the same ones
