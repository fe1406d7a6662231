"""Public. Which models compete, what a column costs, what a run costs, and the recipe that says it all."""
