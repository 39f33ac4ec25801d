"""What a graph alone promises: P1, P2, connectivity, coalitions, and plans of topologies."""
