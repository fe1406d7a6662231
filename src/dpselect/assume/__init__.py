"""Public statements: bounds, levels, candidates, neighbours, sensitivities, prices."""
