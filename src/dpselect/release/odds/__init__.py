"""Public. Odds ratios: rounds of Newton's method under one price, and what they say."""
