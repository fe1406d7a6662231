"""What would happen: exact probabilities and simulations, for the custodian's eyes only."""

from dpselect.rehearse.check.probabilities import losses, probabilities
from dpselect.rehearse.paper.theorems import Problem, pcls_bound, pcpl_bound
from dpselect.rehearse.planning.outlook import outlook_study
from dpselect.rehearse.planning.plan import plan, plan_study
from dpselect.rehearse.planning.supposed import suppose, suppose_sample

__all__ = [
    "Problem",
    "losses",
    "outlook_study",
    "pcls_bound",
    "pcpl_bound",
    "plan",
    "plan_study",
    "probabilities",
    "suppose",
    "suppose_sample",
]
