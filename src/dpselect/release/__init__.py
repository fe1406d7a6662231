"""The only exit: check, charge, draw, hand over."""
