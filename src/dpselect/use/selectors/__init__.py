"""scikit-learn's door: private selectors that stand in a pipeline."""
