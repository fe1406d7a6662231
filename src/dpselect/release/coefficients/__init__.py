"""Public. From noisy moments to coefficients with intervals."""
