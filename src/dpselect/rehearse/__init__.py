"""What would happen: exact probabilities and simulations, for the custodian's eyes only."""

from dpselect.rehearse.planning import plan, plan_study
from dpselect.rehearse.probabilities import losses, probabilities
from dpselect.rehearse.supposed import suppose, suppose_sample
from dpselect.rehearse.theorems import Problem, pcls_bound, pcpl_bound

__all__ = [
    "Problem",
    "losses",
    "pcls_bound",
    "pcpl_bound",
    "plan",
    "plan_study",
    "probabilities",
    "suppose",
    "suppose_sample",
]
