"""The elementary functions that programs use, to the last bit the same on every machine.

C libraries differ in the last bit of sin, exp and their like. These use only additions, multiplications, divisions
and square roots, which IEEE 754 defines exactly. `native/machine/elementary.hpp` has the same, over lanes. They are
Taylor's, after the argument was brought near zero by constants that are split so that products with whole numbers are
exact. Results are within three units in the last place, those of `tan` within four; those of `power` within two while
they lie in 1e-9 to 1e9, and within thirty at the ends of the range.
"""

from __future__ import annotations

import math
import struct

MAGIC = 1.5 * 2.0**52
"""Adding it, and taking it away again, rounds a number to a whole one."""

HALF_PI_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""pi / 2 as a sum. The first two have 33 bits."""
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
"""pi / 2 as a sum of two doubles, the second tiny; likewise:"""
PI = (3.141592653589793, 1.2246467991473532e-16)
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)
ARCTAN_HALF = (0.4636476090008061, 2.2698777452961687e-17)
LN2 = (0.6931471805598903, 5.497923018708371e-14)
"""Likewise; the first has 42 bits."""
TWO_OVER_PI = 0.6366197723675814
LOG2_E = 1.4426950408889634
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
LARGE = 2.0**20
"""From here on, angles are reduced with whole numbers."""
TWO_OVER_PI_DIGITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
    "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
    "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)
"""The first 1216 binary places of 2 / pi."""

SIN = [-((-1.0) ** n) / math.factorial(2 * n + 3) for n in range(8)]
COS = [-((-1.0) ** n) / math.factorial(2 * n + 2) for n in range(9)]
EXP = [1.0 / math.factorial(n + 2) for n in range(12)]
LOG = [2.0 / (2 * n + 3) for n in range(10)]
ARCTAN = [-((-1.0) ** n) / (2 * n + 3) for n in range(13)]
"""Coefficients of the series, without their first terms."""


def _bits(x: float) -> int:
    return int.from_bytes(struct.pack("<d", x), "little")


def _number(bits: int) -> float:
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def _rounded(x: float) -> float:
    return (x + MAGIC) - MAGIC


def _polynomial(coefficients: list[float], y: float) -> float:
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + y * total
    return total


def _series(coefficients: list[float], y: float) -> float:
    """c0 + c1 y + c2 y^2 + ...; even and odd terms apart, so that processors work on both at once."""
    square = y * y
    return _polynomial(coefficients[0::2], square) + y * _polynomial(coefficients[1::2], square)


# ---- angles ----


def _reduced(a: float) -> tuple[float, int]:
    """The r and q of a = q pi/2 + r, q modulo 4."""
    if a >= LARGE:
        return _reduced_exactly(a)
    n = _rounded(a * TWO_OVER_PI)
    first, second, third = HALF_PI_PARTS
    return ((a - n * first) - n * second) - n * third, int(n) & 3


def _reduced_exactly(a: float) -> tuple[float, int]:
    exponent = (_bits(a) >> 52) - 1075
    mantissa = _bits(a) & (2**52 - 1) | 2**52
    skipped = max(exponent - 2, 0)  # binary places of 2 / pi that only add multiples of 4
    places = TWO_OVER_PI_DIGITS >> (1216 - 192 - skipped) & (2**192 - 1)
    turns = (mantissa * places) >> (66 - (exponent - skipped)) & (2**128 - 1)  # with 126 places, modulo 4
    quadrant = (turns + 2**125) >> 126
    rest = turns - (quadrant << 126)
    high, low = divmod(abs(rest), 2**64)
    r = (float(high) * 2.0**-62 + float(low) * 2.0**-126) * HALF_PI[0]
    return -r if rest < 0 else r, quadrant & 3


def _sin_cos(r: float) -> tuple[float, float]:
    y = r * r
    return r + r * (y * _series(SIN, y)), 1.0 + y * _series(COS, y)


def sin(x: float) -> float:
    """The sine."""
    if not math.isfinite(x):
        return math.nan
    r, quadrant = _reduced(abs(x))
    value = _sin_cos(r)[quadrant & 1]
    return -value if (quadrant >= 2) != (math.copysign(1.0, x) < 0) else value


def cos(x: float) -> float:
    """The cosine."""
    if not math.isfinite(x):
        return math.nan
    r, quadrant = _reduced(abs(x))
    value = _sin_cos(r)[1 - (quadrant & 1)]
    return -value if quadrant in (1, 2) else value


def tan(x: float) -> float:
    """The tangent."""
    if not math.isfinite(x):
        return math.nan
    r, quadrant = _reduced(abs(x))
    sine, cosine = _sin_cos(r)
    value = cosine / sine if quadrant & 1 else sine / cosine
    return -value if bool(quadrant & 1) != (math.copysign(1.0, x) < 0) else value


def _angle(a: float, b: float) -> float:
    """The angle in 0 to pi/2 whose tangent is a / b; both are at least 0, not both are."""
    u, v = (b, a) if a > b else (a, b)
    middle, (high, low) = (
        (0.0, (0.0, 0.0)) if u < 0.25 * v else (0.5, ARCTAN_HALF) if u < 0.75 * v else (1.0, QUARTER_PI)
    )
    w = (u - middle * v) / (v + middle * u)
    z = w * w
    value = high + ((w + w * (z * _series(ARCTAN, z))) + low)
    return HALF_PI[0] - (value - HALF_PI[1]) if a > b else value


def arctan(x: float) -> float:
    """The angle in -pi/2 to pi/2 whose tangent is x."""
    if math.isnan(x):
        return math.nan
    return math.copysign(_angle(min(abs(x), 1e300), 1.0), x)


def arcsin(x: float) -> float:
    """The angle in -pi/2 to pi/2 whose sine is x; NaN beyond 1."""
    a = abs(x)
    return math.copysign(_angle(a, math.sqrt((1.0 - a) * (1.0 + a))), x) if a <= 1 else math.nan


def arccos(x: float) -> float:
    """The angle in 0 to pi whose cosine is x; NaN beyond 1."""
    a = abs(x)
    if not a <= 1:
        return math.nan
    value = _angle(math.sqrt((1.0 - a) * (1.0 + a)), a)
    return PI[0] - (value - PI[1]) if x < 0 else value


# ---- powers ----


def _exp_of_sum(x: float, tail: float) -> float:
    """exp(x + tail), where the tail is tiny."""
    x = min(max(x, -746.0), 710.0)
    n = _rounded(x * LOG2_E)
    r = ((x - n * LN2[0]) - n * LN2[1]) + tail
    value = 1.0 + (r + r * r * _series(EXP, r))
    half = int(_rounded(n * 0.5))
    return value * 2.0**half * 2.0 ** (int(n) - half)


def exp(x: float) -> float:
    """The power e^x."""
    return math.nan if math.isnan(x) else _exp_of_sum(x, 0.0)


def _split_log(x: float) -> tuple[float, float]:
    """The k and f of x = 2^k (1 + f), 1 + f in root 1/2 to root 2. x is finite and above 0."""
    shift = 0
    if x < 2.0**-1022:
        x, shift = x * 2.0**54, 54
    i = _bits(x) + _bits(1.0) - ROOT_HALF_BITS
    return float((i >> 52) - 1023 - shift), _number((i & (2**52 - 1)) + ROOT_HALF_BITS) - 1.0


def log(x: float) -> float:
    """The natural logarithm; NaN below 0."""
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0 or math.isinf(x):
        return -math.inf if x == 0 else x
    k, f = _split_log(x)
    s = f / (2.0 + f)
    z = s * s
    rest = z * _series(LOG, z)
    return k * LN2[0] + (f - (s * (f - rest) - k * LN2[1]))


def _product_error(a: float, b: float, product: float) -> float:
    """What a * b - product is exactly: Dekker's, with numbers split into halves of 26 bits."""
    c, d = a * 134217729.0, b * 134217729.0
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _long_log(x: float) -> tuple[float, float]:
    """The logarithm as a sum of two doubles, the second tiny. x is finite and above 0."""
    k, f = _split_log(x)
    d = 2.0 + f
    s = f / d
    product = s * d
    s_low = (((f - product) - _product_error(s, d, product)) - s * (f - (d - 2.0))) / d
    z = s * s
    rest = k * LN2[1] + (2.0 * s_low + s * (z * _series(LOG, z)))
    first, second = k * LN2[0], 2.0 * s
    total = first + second
    rest = rest + (second - (total - first))
    high = total + rest
    return high, rest - (high - total)


def power(x: float, y: float) -> float:
    """The power x^y, with the special cases of C."""
    if y == 0 or x == 1:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return math.nan
    a = abs(x)
    is_negative = math.copysign(1.0, x) < 0
    if is_negative and 0 < a < math.inf and not _is_whole(abs(y)):
        return math.nan
    if a == 1:
        value = 1.0
    else:
        high, low = (-math.inf if a == 0 else a, 0.0) if a == 0 or math.isinf(a) else _long_log(a)
        product = y * high
        tail = _product_error(y, high, product) + y * low
        value = _exp_of_sum(product, tail if abs(product) < 1000.0 else 0.0)
    return -value if is_negative and _is_whole(abs(y)) and not _is_whole(abs(y) * 0.5) else value


def _is_whole(a: float) -> bool:
    return a >= 2.0**52 or (a + 2.0**52) - 2.0**52 == a
