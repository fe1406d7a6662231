"""The line: scores or margins to one model, sums to noisy sums. Noise by OpenDP behind one door, choices by it or by exact random digits."""
