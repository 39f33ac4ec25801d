"""The demonstrations: four clinics and one regression, the paper's five agents, and five members over real links."""
