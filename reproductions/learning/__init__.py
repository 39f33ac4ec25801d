"""The paper's second experiment: MNIST and Reuters, learnt by five agents, one definition for both.

Accuracy against epochs, the price of each kind of privacy, how much noise is too much, what exchanging rarely saves,
and what becomes of it where agents hold different labels.
"""
