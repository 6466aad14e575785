"""What every other folder stands on: time, waiting, error codes, what a request carries along."""
