"""Every target, by its name."""

from __future__ import annotations

from data_targets import DATA_TARGETS
from release_targets import RELEASE_TARGETS
from workbook_targets import WORKBOOK_TARGETS

TARGETS = {target.name: target for target in (*DATA_TARGETS, *RELEASE_TARGETS, *WORKBOOK_TARGETS)}
