"""Results of calls as flat lists, and comparison of their bits."""


def flat(result):
    return [part for r in result for part in flat(r)] if isinstance(result, tuple) else [result]


def same(got, want):
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
