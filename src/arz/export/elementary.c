/* The elementary functions of arz/elementary.py, to the last bit. Words between @ are filled in from there.
   A block ends at an empty line; an export takes the blocks that it needs. */

static uint64_t arz_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double arz_number(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double arz_rounded(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

static double arz_series(const double *c, int count, double y) {
  const double square = y * y;
  int n = (count - 1) / 2 * 2, m = count / 2 * 2 - 1;
  double even = c[n], odd = c[m];
  for (n -= 2; n >= 0; n -= 2) even = c[n] + square * even;
  for (m -= 2; m >= 0; m -= 2) odd = c[m] + square * odd;
  return even + y * odd;
}

static const double arz_sin_series[] = {@SIN@};

static const double arz_cos_series[] = {@COS@};

static const double arz_exp_series[] = {@EXP@};

static const double arz_log_series[] = {@LOG@};

static const double arz_arctan_series[] = {@ARCTAN@};

/* 2 / pi: its first 1216 binary places. */
static const uint32_t arz_digits[38] = {@DIGITS@};

/* a = q pi/2 + r for large a, with whole numbers. */
static double arz_reduced_exactly(double a, int *q) {
  const int exponent = (int)(arz_bits(a) >> 52) - 1075, skipped = exponent > 2 ? exponent - 2 : 0;
  const uint64_t mantissa = (arz_bits(a) & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1) << 52);
  const int shift = 66 - (exponent - skipped);
  uint32_t places[6], product[9] = {0};
  uint64_t high = 0, low = 0, turns;
  int k, half, negative;
  for (k = 0; k < 6; ++k) { /* the lowest first */
    const int first = skipped + 32 * (5 - k), word = first / 32, by = first % 32;
    const uint64_t two = (uint64_t)arz_digits[word] << 32 | (word < 37 ? arz_digits[word + 1] : 0);
    places[k] = (uint32_t)(two >> (32 - by));
  }
  for (half = 0; half < 2; ++half) {
    const uint64_t factor = half ? mantissa >> 32 : mantissa & 0xFFFFFFFFu;
    uint64_t carry = 0;
    for (k = 0; k < 6; ++k) {
      carry += factor * places[k] + product[k + half];
      product[k + half] = (uint32_t)carry;
      carry >>= 32;
    }
    product[6 + half] = (uint32_t)(product[6 + half] + carry);
  }
  for (k = 3; k >= 0; --k) { /* 128 bits from `shift` on */
    const int word = shift / 32 + k, by = shift % 32;
    const uint64_t two = (word < 8 ? (uint64_t)product[word + 1] << 32 : 0) | (word < 9 ? product[word] : 0);
    const uint64_t part = (uint32_t)(two >> by);
    if (k >= 2)
      high |= part << (32 * (k - 2));
    else
      low |= part << (32 * k);
  }
  turns = high > UINT64_MAX - (UINT64_C(1) << 61) ? 4 : (high + (UINT64_C(1) << 61)) >> 62;
  high -= turns << 62;
  negative = (int)(high >> 63);
  if (negative) {
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  *q = (int)(turns & 3);
  {
    const double r = ((double)high * 0x1p-62 + (double)low * 0x1p-126) * @HALF_PI@;
    return negative ? -r : r;
  }
}

/* a = q pi/2 + r, q modulo 4. */
static double arz_reduced(double a, int *q) {
  double n;
  if (a >= 1048576.0) return arz_reduced_exactly(a, q);
  n = arz_rounded(a * @TWO_OVER_PI@);
  *q = (int)n & 3;
  return ((a - n * @HALF_PI_1@) - n * @HALF_PI_2@) - n * @HALF_PI_3@;
}

static double arz_sin_near(double r) { return r + r * (r * r * arz_series(arz_sin_series, 8, r * r)); }

static double arz_cos_near(double r) { return 1.0 + r * r * arz_series(arz_cos_series, 9, r * r); }

static double arz_sin(double x) {
  int q;
  double r, value;
  if (!isfinite(x)) return NAN;
  r = arz_reduced(fabs(x), &q);
  value = q & 1 ? arz_cos_near(r) : arz_sin_near(r);
  return (q >= 2) != (signbit(x) != 0) ? -value : value;
}

static double arz_cos(double x) {
  int q;
  double r, value;
  if (!isfinite(x)) return NAN;
  r = arz_reduced(fabs(x), &q);
  value = q & 1 ? arz_sin_near(r) : arz_cos_near(r);
  return q == 1 || q == 2 ? -value : value;
}

static double arz_tan(double x) {
  int q;
  double r, value;
  if (!isfinite(x)) return NAN;
  r = arz_reduced(fabs(x), &q);
  value = q & 1 ? arz_cos_near(r) / arz_sin_near(r) : arz_sin_near(r) / arz_cos_near(r);
  return (q & 1) != (signbit(x) != 0) ? -value : value;
}

/* The angle in 0 to pi/2 whose tangent is a / b. */
static double arz_angle(double a, double b) {
  const double u = a > b ? b : a, v = a > b ? a : b;
  double middle = 1.0, high = @QUARTER_PI_1@, low = @QUARTER_PI_2@, w, z, value;
  if (u < 0.25 * v) {
    middle = high = low = 0.0;
  } else if (u < 0.75 * v) {
    middle = 0.5;
    high = @ARCTAN_HALF_1@;
    low = @ARCTAN_HALF_2@;
  }
  w = (u - middle * v) / (v + middle * u);
  z = w * w;
  value = high + ((w + w * (z * arz_series(arz_arctan_series, 13, z))) + low);
  return a > b ? @HALF_PI@ - (value - @HALF_PI_REST@) : value;
}

static double arz_arctan(double x) {
  if (isnan(x)) return NAN;
  return copysign(arz_angle(fabs(x) < 1e300 ? fabs(x) : 1e300, 1.0), x);
}

static double arz_arcsin(double x) {
  const double a = fabs(x);
  return a <= 1.0 ? copysign(arz_angle(a, sqrt((1.0 - a) * (1.0 + a))), x) : NAN;
}

static double arz_arccos(double x) {
  const double a = fabs(x);
  double value;
  if (!(a <= 1.0)) return NAN;
  value = arz_angle(sqrt((1.0 - a) * (1.0 + a)), a);
  return x < 0.0 ? @PI_1@ - (value - @PI_2@) : value;
}

static double arz_power_of_two(int k) { return arz_number((uint64_t)(k + 1023) << 52); }

static double arz_exp_of_sum(double given, double tail) {
  const double x = given < -746.0 ? -746.0 : given > 710.0 ? 710.0 : given;
  const double n = arz_rounded(x * @LOG2_E@), r = ((x - n * @LN2_1@) - n * @LN2_2@) + tail;
  const double value = 1.0 + (r + r * r * arz_series(arz_exp_series, 12, r));
  const int half = (int)arz_rounded(n * 0.5);
  return value * arz_power_of_two(half) * arz_power_of_two((int)n - half);
}

static double arz_exp(double x) { return isnan(x) ? NAN : arz_exp_of_sum(x, 0.0); }

/* x = 2^k (1 + f), 1 + f in root 1/2 to root 2; x is finite and above 0. */
static double arz_split_log(double x, double *f) {
  const int is_tiny = x < 0x1p-1022;
  const uint64_t i = arz_bits(is_tiny ? x * 0x1p54 : x) + arz_bits(1.0) - @ROOT_HALF_BITS@;
  *f = arz_number((i & ((UINT64_C(1) << 52) - 1)) + @ROOT_HALF_BITS@) - 1.0;
  return (double)((int)(i >> 52) - 1023 - (is_tiny ? 54 : 0));
}

static double arz_log(double x) {
  double k, f, s, z, rest;
  if (isnan(x) || x < 0.0) return NAN;
  if (!(x > 0.0)) return -HUGE_VAL;
  if (isinf(x)) return x;
  k = arz_split_log(x, &f);
  s = f / (2.0 + f);
  z = s * s;
  rest = z * arz_series(arz_log_series, 10, z);
  return k * @LN2_1@ + (f - (s * (f - rest) - k * @LN2_2@));
}

/* a b - product, exactly (Dekker). */
static double arz_product_error(double a, double b, double product) {
  const double c = a * 134217729.0, d = b * 134217729.0;
  const double a_high = c - (c - a), b_high = d - (d - b), a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

/* The logarithm as a sum of two numbers; x is finite and above 0. */
static double arz_long_log(double x, double *low) {
  double f, k = arz_split_log(x, &f);
  const double d = 2.0 + f, s = f / d, product = s * d, z = s * s;
  const double s_low = (((f - product) - arz_product_error(s, d, product)) - s * (f - (d - 2.0))) / d;
  const double first = k * @LN2_1@, second = 2.0 * s, total = first + second;
  const double rest = (k * @LN2_2@ + (2.0 * s_low + s * (z * arz_series(arz_log_series, 10, z)))) +
                      (second - (total - first));
  const double high = total + rest;
  *low = rest - (high - total);
  return high;
}

static int arz_is_whole(double a) { return a >= 0x1p52 || !((a + 0x1p52) - 0x1p52 < a || (a + 0x1p52) - 0x1p52 > a); }

static double arz_power(double x, double y) {
  const double a = fabs(x), b = fabs(y);
  const int is_negative = signbit(x) != 0;
  double value = 1.0;
  if (!(b > 0.0 || isnan(y)) || !(x < 1.0 || x > 1.0 || isnan(x))) return 1.0;
  if (isnan(x) || isnan(y)) return NAN;
  if (is_negative && a > 0.0 && !isinf(a) && !arz_is_whole(b)) return NAN;
  if (a < 1.0 || a > 1.0) {
    double low = 0.0, high, product, tail;
    if (!(a > 0.0))
      high = -HUGE_VAL;
    else if (isinf(a))
      high = a;
    else
      high = arz_long_log(a, &low);
    product = y * high;
    tail = arz_product_error(y, high, product) + y * low;
    value = arz_exp_of_sum(product, fabs(product) < 1000.0 ? tail : 0.0);
  }
  return is_negative && arz_is_whole(b) && !arz_is_whole(b * 0.5) ? -value : value;
}
