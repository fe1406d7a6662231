"""What would happen: exact probabilities and simulations, for the custodian's eyes only."""

from dpselect.rehearse.probabilities import losses, probabilities

__all__ = ["losses", "probabilities"]
