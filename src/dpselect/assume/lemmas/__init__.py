"""Public. Every sensitivity and price, each once, with its proof."""
