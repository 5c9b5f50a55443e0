"""Time skewing with time tiling: one block a problem, one group of warps a time level."""
