"""Public. Releases as text, JSON and pages; imports nothing private."""
