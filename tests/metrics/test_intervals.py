"""The intervals are exact: those of scipy's own tests."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest, chi2

from vision.errors import ConfigurationError
from vision.metrics.intervals import at_most, hourly, needed, share


@pytest.mark.parametrize("of", [1, 2, 10, 37, 3000, 100_000])
def test_share_has_the_interval_of_clopper_and_pearson(of: int) -> None:
    """Both ends are scipy's, also of nothing and of all."""
    for count in {0, 1, of // 3, of - 1, of}:
        exact = binomtest(count, of).proportion_ci(0.95, "exact")
        found = share(count, of)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
        one = binomtest(count, of, alternative="less").proportion_ci(0.95, "exact")
        assert at_most(count, of) == pytest.approx(one.high, abs=1e-12)


def test_share_of_nothing_is_anything() -> None:
    """Where nothing was counted nothing is shown."""
    assert share(0, 0)[2:] == (0.0, 1.0)
    assert at_most(0, 0) == 1.0


@pytest.mark.parametrize(("events", "hours"), [(0, 2.0), (1, 0.5), (12, 40.0)])
def test_rate_an_hour_has_the_interval_of_garwood(events: int, hours: float) -> None:
    """Both ends are the chi-square quantiles that the method is defined by."""
    low = chi2.ppf(0.025, 2 * events) / 2 / hours if events else 0.0
    high = chi2.ppf(0.975, 2 * events + 2) / 2 / hours
    found = hourly(events, hours)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert hourly(events, 0.0).high is None


def test_three_thousand_coups_without_a_wrong_one_show_a_thousandth() -> None:
    """One coup fewer than needed does not show it, with none wrong and with some."""
    assert needed(0.001) == 2995
    for wrong in range(4):
        coups = needed(0.002, wrong)
        assert at_most(wrong, coups) < 0.002 <= at_most(wrong, coups - 1)


@pytest.mark.parametrize("below", [0.0, 1.0, -1.0, 1e-12])
def test_what_nobody_can_show_is_refused(below: float) -> None:
    """A share that is none, or takes more coups than a house deals."""
    with pytest.raises(ConfigurationError):
        needed(below)
