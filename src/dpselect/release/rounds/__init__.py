"""Public. Coefficients by a few adaptive rounds of noisy sums under one price: what is asked, and what follows from the answers."""
