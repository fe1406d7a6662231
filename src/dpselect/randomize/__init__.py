"""The line: scores or margins to one model, sums to noisy sums; by OpenDP behind one door, or by exact random digits."""
