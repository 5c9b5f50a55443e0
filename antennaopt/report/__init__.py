"""Figures and HTML report of a run, from its files alone. Only this package uses Matplotlib and Jinja."""
