"""What a run would find: plans from public facts; confidential checks with exact chances from the rows."""

from dpselect.rehearse.check.listed import losses, probabilities
from dpselect.rehearse.planning.outlook import outlook_study
from dpselect.rehearse.planning.plan import plan, plan_study
from dpselect.rehearse.planning.supposed import suppose, suppose_sample

__all__ = [
    "losses",
    "outlook_study",
    "plan",
    "plan_study",
    "probabilities",
    "suppose",
    "suppose_sample",
]
