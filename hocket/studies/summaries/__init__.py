"""Descriptions by secure sums: counts, means, quantiles, histograms, survival curves."""
