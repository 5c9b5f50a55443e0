"""Time skewing for populations: one block an antenna, one warp a time level."""
