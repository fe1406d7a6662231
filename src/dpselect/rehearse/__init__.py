"""What would happen: exact probabilities and simulations, for the custodian's eyes only."""
