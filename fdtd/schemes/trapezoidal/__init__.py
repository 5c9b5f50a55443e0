"""Tiles with redundant computation: several steps a trip to memory."""
