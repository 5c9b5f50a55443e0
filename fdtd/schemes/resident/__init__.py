"""A cluster of blocks holds one problem on chip for all of its steps."""
