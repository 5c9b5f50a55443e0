"""Time skewing in registers: a warp streams the rows of a strip through several time levels."""
