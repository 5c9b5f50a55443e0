"""Figures and HTML report of a run, from its files alone. Matplotlib and Jinja are used in here and nowhere else."""
