"""Other brokers, as servers of requests: one connection to each, kept open.

Knows addresses, frames and versions; nothing of what is asked.

dialing   how a connection is opened, so that tests can give another network
link      one connection: versions agreed, requests in order, answers by correlation id
peer      one broker: connected when it is needed, with pauses after failures
peers     the brokers of a cluster by their id
batches   what many ask of a broker at a time goes in one request
"""
