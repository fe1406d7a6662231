"""The paper's experiments, theorems and statements (Lei et al., arXiv:1607.04204), beside the package and not part of it."""
