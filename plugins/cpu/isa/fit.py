"""Chebyshev fits behind the constants of math.h: run it to print them with their largest error."""
from mpmath import mp, mpf, chebyfit, exp, log, erf, erfc, tanh, sin, cos, sqrt, pi, ln, atanh

mp.dps = 40


def even(f, high):
    """f as a function of x squared."""
    return lambda s: f(sqrt(s)), [mpf(10) ** -12, mpf(high) ** 2]


def show(name, f, interval, n):
    coefficients, error = chebyfit(f, interval, n, error=True)
    print(name, "error", mp.nstr(error, 3))
    print("  " + ", ".join(mp.nstr(c, 17) for c in coefficients))


half = ln(2) / 2
tiny = lambda x: abs(x) < mpf(10) ** -15
show("exp_tail: (e^r - 1 - r) / r^2", lambda r: mpf(1) / 2 if tiny(r) else (exp(r) - 1 - r) / r**2, [-half * 1.01, half * 1.01], 5)
show("exp_tail_wide (f64 sum)", lambda r: mpf(1) / 2 if tiny(r) else (exp(r) - 1 - r) / r**2, [-half * 1.01, half * 1.01], 9)
low, high = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
show("log_tail: (log(1+f) - f + f^2/2) / f^3", lambda f: mpf(1) / 3 if tiny(f) else (log(1 + f) - f + f * f / 2) / f**3, [low, high], 8)
f, i = even(lambda s: (2 * atanh(s) - 2 * s) / s**3, sqrt(mpf(2)) / (2 + sqrt(mpf(2))) * 0.42)
show("log_wide: (2 atanh(s) - 2 s) / s^3 over s^2", f, [mpf(10) ** -12, mpf("0.1716") ** 2], 6)
f, i = even(lambda x: erf(x) / x, 1)
show("erf_small: erf(x) / x over x^2", f, i, 7)
f, i = even(lambda x: tanh(x) / x, mpf("0.625"))
show("tanh_small: (tanh(x) / x - 1) / x^2 over x^2", lambda s: (tanh(sqrt(s)) / sqrt(s) - 1) / s, [mpf(10) ** -10, i[1]], 5)
f, i = even(lambda x: (sin(x) / x - 1) / x**2, pi / 4 * 1.01)
show("sin: (sin(x) / x - 1) / x^2 over x^2", f, [mpf(10) ** -10, i[1]], 4)
f, i = even(lambda x: (cos(x) - 1 + x * x / 2) / x**4, pi / 4 * 1.01)
show("cos: (cos(x) - 1 + x^2/2) / x^4 over x^2", f, [mpf(10) ** -8, i[1]], 4)


def erfcx(x):
    if x < 25:
        return exp(x * x) * erfc(x)
    s, term = mpf(0), mpf(1)
    for k in range(12):
        s += term
        term *= -(2 * k + 1) / (2 * x * x)
    return s / (x * sqrt(pi))


def mapped(k):
    def f(u):
        if u > mpf(1) - mpf(10) ** -12:
            return 2 / sqrt(pi) * 1 # limit of (1 + 2x) erfcx(x)
        x = k * (1 + u) / (1 - u)
        return (1 + 2 * x) * erfcx(x)
    return f


show("erfcx: (1 + 2x) erfcx(x) over (x - 2) / (x + 2)", mapped(2), [-1, 1], 13)
