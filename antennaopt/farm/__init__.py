"""The farm: solve batches on worker processes, here or on other machines.

Import from its modules: workers import this package, and the command line needs little of it.
"""
