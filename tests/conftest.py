"""For every test: Hypothesis without a clock or a die of its own, and one line about whatever was left out."""

from collections import Counter

from hypothesis import settings

# The same examples on every run, and no deadline: these machines are noisy, and a timed test is a flaky test.
settings.register_profile("dpselect", derandomize=True, deadline=None)
settings.load_profile("dpselect")


def pytest_terminal_summary(terminalreporter):
    reasons = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        where = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[where.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"left out: {count} test(s): {reason}")
