"""Public. One page for an ethics board."""
