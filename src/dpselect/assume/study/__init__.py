"""Public. What a person states: variables, terms, bounds, neighbours, study files."""
