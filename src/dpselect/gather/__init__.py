"""Rows to exact integer moments. Private from here to randomize."""
