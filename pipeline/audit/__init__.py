"""What the broker holds against what the lake holds: every offset once, every gap explained."""
