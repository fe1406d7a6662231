"""The paper's experiments and theorems."""
