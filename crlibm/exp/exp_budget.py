"""The error budget of exp_dd.h, added up box by box: for exp (exp10 and pow have its reduction) and exp2, with FMA and without.

Usage: python crlibm/exp/exp_budget.py [--check]

|r| <= ln2/32 (1 + 2^-20) is cut into boxes. In each, every rounding counts half a unit in the last place of the largest number that the box
leaves it, whatever this is multiplied with is the largest too, and a product counts a rounding of its own where there is no FMA. The sum, for
each entry of the table of 2^(j/16), is divided by the least result; for exp2 by 2.05, as rm_exp_fast_dd takes it;
exp2_accurate.h, which divides by it, rounds by integers and not by lo + err.
--check: every sum is below RM_EXP_DD_ERR, and rounded up it is what exp_dd.h states."""

import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
BOXES = 8192
UP = 1 + 2.0**-30  # more than the roundings of this program, fewer than 1000 of 2^-53 each
UNIT = 2.0**-69


def table(name, text):
    body = re.search(name + r"\[\d+\] = \{(.*?)\}", text, re.S)[1]
    return np.array([float.fromhex(v) for v in re.findall(r"-?0x[0-9a-f.]+p[+-]\d+", body)])


def half_ulp(x):
    """Of the largest number of magnitude x or less."""
    return np.exp2(np.floor(np.log2(np.maximum(x, 2.0**-500) * UP)) - 53)


def budget(kind, fma):
    """The largest sum, in units of 2^-69 of the result, and the largest of its terms where it is attained."""
    text = (HERE / "exp_tables.h").read_text()
    p, t_hi, t_lo = table("rm_exp_p64", text), table("rm_exp_t_hi", text), table("rm_exp_t_lo", text)
    fit = 2.0 ** -float(re.search(r"r\^3 Q\(r\).*?<= 2\^-(\d+\.\d+)", text)[1])
    top = np.log(2) / 32 * (1 + 2.0**-20) * UP
    edges = np.linspace(0, top, BOXES + 1)
    low, r = edges[:-1], edges[1:]  # magnitudes of r; half of the boxes stand for negative ones
    product = (lambda x: 0 * x) if fma else half_ulp
    sums = []
    for negative in (0, 1):
        sign = -1 if negative else 1
        least = np.exp(-r if negative else low) / UP  # of e^r in the box
        most = np.exp(-low if negative else r) * UP
        s = r * r
        e_s = half_ulp(s)
        coefficient = [np.abs(p[i] + sign * p[i + 1] * (r if not negative else low)) for i in (0, 2, 4)]
        q01, q23, q45 = (
            np.maximum(c, np.abs(p[i] + sign * p[i + 1] * (low if not negative else r)))
            for c, i in zip(coefficient, (0, 2, 4))
        )
        e01, e23, e45 = (product(r * p[i + 1]) + half_ulp(q) for q, i in zip((q01, q23, q45), (0, 2, 4)))
        inner = q23 + s * q45
        e_inner = e23 + s * e45 + q45 * e_s + product(s * q45) + half_ulp(inner)
        q = q01 + s * inner
        e_q = e01 + s * e_inner + inner * e_s + product(s * inner) + half_ulp(q)
        cube = r * s
        e_cube = r * e_s + half_ulp(cube)
        cubic = cube * q
        rl = half_ulp(r)
        if kind != "exp":
            rl = rl + r / np.log(2) * float.fromhex("0x1.abc9e3b39803fp-56") * UP
        c = cubic + 2 * rl + s * 2.0**-53  # r^3 Q, rl (1 + rh), half the error of s
        terms = {
            "reduction": most * 2.0**-80,
            "polynomial": cube * fit,
            "cubic": cube * e_q + q * e_cube + product(cubic),
            "rl": rl * (np.expm1(r) - r) * UP + rl * rl,
            "c": half_ulp(c) + 4 * half_ulp(2 * rl + s * 2.0**-53),
            "ul": 2 * half_ulp(c + 2.0**-51) + 2.0**-104,  # (ve + ue) + c, and with tl u
            "tl": 2.0**-107 * most + 0 * r,
        }
        for j in range(16):
            t, tl = t_hi[j], abs(t_lo[j])
            ul = c + 2.0**-51
            hi = t * most * UP
            lo = t * ul + half_ulp(hi)
            last = product(t * ul) + half_ulp(lo)  # t ul + (error of t u)
            if kind != "exp2_slow":
                last = last + half_ulp(lo * UP)  # lo + err in Ziv's rounding test
            all_terms = {**terms, "tl c": tl * ul, "last": last / t}
            size = 2.05 / t if kind == "exp2" else least
            relative = sum(all_terms.values()) / size * UP
            i = int(np.argmax(relative))
            sums.append(
                (
                    relative[i] / UNIT,
                    {
                        k: round(float(np.broadcast_to(v, r.shape)[i] / np.broadcast_to(size, r.shape)[i] / UNIT), 3)
                        for k, v in all_terms.items()
                    },
                )
            )
    return max(sums, key=lambda s: s[0])


def main():
    header = (HERE / "exp_dd.h").read_text()
    claimed = float.fromhex(re.search(r"RM_EXP_DD_ERR RM_BOUND\((\S+)\)", header)[1]) / UNIT
    stated = re.search(r"exp (\S+) with FMA, (\S+) without; exp2 (\S+) and (\S+), exp2_accurate.h (\S+) and (\S+):", header)
    print(f"claimed {claimed}")
    for i, (kind, fma) in enumerate((kind, fma) for kind in ("exp", "exp2", "exp2_slow") for fma in (True, False)):
        total, terms = budget(kind, fma)
        print(f"{kind:9} {'FMA' if fma else 'no FMA':7} {total:.3f}", terms)
        if "--check" in sys.argv[1:]:
            assert total <= float(stated[i + 1]) < claimed, (kind, fma, total)


if __name__ == "__main__":
    main()
