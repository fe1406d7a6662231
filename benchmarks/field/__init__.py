"""The field, side by side in one run: `make field`. One file per rival, written anew from its paper."""
