"""One time step a launch: the baseline of every ratio."""
