"""Public. Noisy normal equations, and what can be said of their solution without drawing anything."""
