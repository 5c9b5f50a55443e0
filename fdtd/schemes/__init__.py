"""Orders in which cells are visited: plans in whole numbers, and what they cost. Knows no device and no array."""
