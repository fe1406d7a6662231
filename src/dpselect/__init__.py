"""Choose a regression model from data you may not show, with a differential-privacy guarantee."""
