"""Malformed DLPack capsules: taken when what they say is well formed, refused otherwise; memory is given back once, or never taken."""

import ctypes

import numpy as np
from dlpack_producer import CODES, Legacy, Producer

import repmath

KNOWN = {
    (CODES[k], 8 * n)
    for k, sizes in {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16), "b": (1,)}.items()
    for n in sizes
}
KNOWN |= {(4, 16), *((code, 8) for code in range(7, 15))}


def well_formed(t, managed, extents):
    """Whether the specification lets a consumer in main memory take this tensor of at most 2^62 bytes."""
    if type(managed) is not Legacy and managed.major != 1:
        return False
    if (t.code, t.bits) not in KNOWN or t.lanes != 1 or t.device_type not in (1, 3, 11):
        return False
    if not 0 <= t.ndim <= 64:
        return False
    shape, strides = extents
    if min(shape, default=0) < 0:
        return False
    size = t.bits // 8
    if np.prod([n for n in shape if n], dtype=object) * size >= 1 << 63:
        return False  # more than NumPy counts
    if 0 in shape:
        return True
    if not strides:
        strides = [int(np.prod(shape[i + 1 :], dtype=object)) for i in range(len(shape))]
    if not all(-(1 << 63) <= s * size < 1 << 63 for s in strides):
        return False  # nor strides that do not fit, even of an axis of one element
    spans = [(n - 1) * s * size for n, s in zip(shape, strides, strict=True)]
    length = sum(abs(s) for s in spans) + size
    return bool(t.data) and length < 1 << 62


def corrupted(rng, kept):
    """A change of a capsule: some fields get other values. What it says then is written into `kept`."""

    def change(t, managed):
        ndim = t.ndim
        shape, strides = [t.shape[i] for i in range(ndim)], [t.strides[i] for i in range(ndim)] if t.strides else []
        for what in rng.choice(
            ["code", "bits", "lanes", "device", "ndim", "shape", "strides", "data", "major", "flags", "none"],
            rng.integers(1, 4),
        ):
            if what == "code":
                t.code = int(rng.integers(0, 20))
            elif what == "bits":
                t.bits = int(rng.choice([0, 1, 4, 8, 16, 32, 64, 128, 255]))
            elif what == "lanes":
                t.lanes = int(rng.choice([0, 1, 2, 65535]))
            elif what == "device":
                t.device_type, t.device_id = int(rng.choice([-1, 0, 1, 2, 3, 8, 11, 12])), int(rng.integers(-2, 3))
            elif what == "ndim":  # no more than there is room to say
                t.ndim = int(rng.choice([-(2**31), -1, 0, 1, ndim, 65, 2**31 - 1]))
                if t.ndim > ndim and t.ndim <= 64:
                    t.ndim = ndim
            elif what == "shape" and ndim:
                shape[int(rng.integers(ndim))] = int(rng.choice([-(2**63), -1, 0, 1, 2**31, 2**62, 2**63 - 1]))
            elif what == "strides" and strides:
                strides[int(rng.integers(ndim))] = int(rng.choice([-(2**63), -(2**40), -1, 0, 1, 2**40, 2**63 - 1]))
            elif what == "data":
                t.data = None if rng.random() < 0.5 else t.data
            elif what == "major" and type(managed) is not Legacy:
                managed.major = int(rng.choice([0, 1, 2, 2**32 - 1]))
            elif what == "flags" and type(managed) is not Legacy:
                managed.flags = int(rng.integers(0, 2**62))
        for i in range(ndim):
            t.shape[i] = shape[i]
            if strides:
                t.strides[i] = strides[i]
        count = t.ndim if 0 <= t.ndim <= ndim else 0
        kept.append((well_formed(t, managed, (shape[:count], strides[:count] if strides else [])), shape[:count]))

    return change


def test_malformed_capsules(attack):
    outcomes = {True: 0, False: 0}
    for rng in attack.rounds(2000):
        kept = []
        dtype = np.dtype(rng.choice(["f2", "f4", "f8", "i4", "u1"]))
        array = np.zeros(tuple(rng.integers(1, 4, rng.integers(0, 4))), dtype)
        producer = Producer(
            array, versioned=bool(rng.random() < 0.5), null_strides=bool(rng.random() < 0.3), change=corrupted(rng, kept)
        )
        try:
            taken = repmath.dlpack.from_dlpack(producer)
        except (BufferError, TypeError, ValueError, OverflowError, MemoryError) as error:
            expected, _ = kept[0]
            assert not expected, (kept, dtype, error)
            del error
        else:
            expected, shape = kept[0]
            assert expected and list(taken.shape) == shape, kept
            del taken
        outcomes[expected] += 1
        assert producer.deleted == [1], producer.deleted
    assert min(outcomes.values()) > 100  # the control: both kinds occur, so neither answer to all would pass


def test_capsules_of_other_names(attack):
    """Capsules with another name, with a used one, and what is no capsule at all."""
    new = ctypes.pythonapi.PyCapsule_New
    for rng in attack.rounds(50):
        name = ctypes.create_string_buffer(bytes(rng.integers(97, 123, 8).astype(np.uint8)))
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        capsule = prototype(("PyCapsule_New", ctypes.pythonapi))(
            ctypes.addressof(name), rng.choice([name.value, b"used_dltensor"]), None
        )
        for answer in (capsule, None, 3, object()):
            lender = type(
                "Lender", (), {"__dlpack__": lambda self, a=answer, **k: a, "__dlpack_device__": lambda self: (1, 0)}
            )()
            try:
                repmath.dlpack.from_dlpack(lender)
            except BufferError:
                continue
            raise AssertionError(answer)
    assert new
