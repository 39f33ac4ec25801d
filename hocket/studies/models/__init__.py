"""Regression models fitted by secure sums: linear, generalised linear, Cox, penalised."""
