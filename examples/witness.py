"""The example in the paper's proof of Theorem 2: seven agents, two of them colluders, and a second truth.

The paper describes the graph and prints no picture of it, so this one is reconstructed from the description: a
vertex connectivity above 2; agents 6 and 7 collude (here 5 and 6, since we count from 0); without them a spanning
tree has agent 1 (here 0) as its root and the other honest agents as its leaves.
"""

from fractions import Fraction

import hocket as hk
from hocket.privacy import exposure, guarantees, witness

TREE = [(0, 1), (0, 2), (0, 3), (0, 4)]
OTHER_HONEST_LINKS = [(1, 2), (2, 3), (3, 4)]
LINKS_OF_THE_COLLUDERS = [(1, 5), (4, 5), (5, 6), (1, 6), (3, 6), (4, 6)]
COLLUDERS = {5, 6}

network = hk.Network(
    TREE + OTHER_HONEST_LINKS + LINKS_OF_THE_COLLUDERS, name="the paper's seven agents, reconstructed"
)
half = Fraction(1, 2)
problem = hk.polynomials(
    [
        [0, -1, 1, 0, half],
        [0, 1, 2],
        [0, 0, 1, 0, 1],
        [0, 2, 3, 0, half],
        [0, -half, 1],
        [0, 1, 1, 0, 1],
        [0, -2, 2],
    ],
    box=(-2, 2),
)

print(network)
print(guarantees(network, colluders=2))
print(exposure(network, COLLUDERS))

# In rational arithmetic nothing is rounded: equal means equal. The numbers triple in length every round.
run = hk.solve(
    problem,
    network,
    hk.FunctionSharing(degree=4, bound=4.0),
    step=hk.Power(Fraction(1, 10), 1),
    rounds=6,
    start=Fraction(1, 2),
    engine="exact",
)

print("\nWhat if agents 1 and 2 had held something else?")
false_objectives = {1: [0, -3, 1, 0, half], 2: [0, 2, half]}
print(witness(run, COLLUDERS, false_objectives))

print("\nThe same with the smallest noise that does it:")
print(witness(run, COLLUDERS, false_objectives, fill="least"))

print("\nAnd if all honest agents had held something else?")
try:
    witness(run, COLLUDERS, {agent: [0, 1] for agent in range(5)})
except hk.HocketError as refusal:
    print(refusal)
