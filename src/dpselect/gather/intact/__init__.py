"""Private. Whether a table is whole and each row in it once: the same file twice, files that change, damage, unreadable cells."""
