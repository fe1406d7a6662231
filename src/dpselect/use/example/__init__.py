"""The demo's table and its folder."""
