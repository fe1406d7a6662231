"""The only exit: check, draw in memory, commit charge and release together, hand over."""
