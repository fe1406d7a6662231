"""Private. Where rows live: arrays, frames, files, databases, as streams of batches."""
