"""Looking into the files of a log without a broker: what `barnabas log` is made of.

Everything here only reads, except for `repair` when it is told to write. Works on what Apache
Kafka wrote as well as on our own. Errors in what the user asked for are `BadPath`; damage in
the files is a result.
"""
