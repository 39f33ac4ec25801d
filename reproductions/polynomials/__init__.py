"""The paper's first experiment: polynomials on five agents, four algorithms, two noise levels.

Also on a problem whose agents want different things, on the complete graph, and beside published medians.
"""
