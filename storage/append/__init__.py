"""What must hold before batches are appended, and what is stamped into them.

Knows batches and a topic's settings; writes nothing and knows no file.
"""
