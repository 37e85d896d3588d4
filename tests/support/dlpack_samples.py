"""What test_dlpack_calls.py and other tests share."""


def flat(result):
    return [part for r in result for part in flat(r)] if isinstance(result, tuple) else [result]


def same(got, want):
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
