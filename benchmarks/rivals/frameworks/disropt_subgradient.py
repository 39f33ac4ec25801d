"""DGD as disropt has it: its distributed projected subgradient method, a process per agent over MPI.

    mpiexec -n 5 python disropt_subgradient.py CASE.npz

The paper's algorithm exactly, on its own functions and constraints.
"""

from __future__ import annotations

import sys

import numpy as np
from disropt.agents import Agent
from disropt.algorithms import SubgradientMethod
from disropt.constraints.projection_sets import Box
from disropt.functions import Power, Variable
from disropt.problems import Problem
from mpi4py import MPI
from turns import take_turns


def main() -> None:
    case, world = np.load(sys.argv[1]), MPI.COMM_WORLD
    me, B = world.Get_rank(), case["B"]
    neighbours = [i for i in range(len(B)) if i != me and B[me, i] > 0]
    agent = Agent(in_neighbors=neighbours, in_weights=B[me].tolist())
    x = Variable(1)
    objective = float(case["square"][me, 0]) / 2 * Power(x, 2) + float(case["fourth"][me, 0]) / 4 * Power(
        x, 4
    )
    agent.set_problem(Problem(objective, Box(np.array([[-30.0]]), np.array([[30.0]]))))
    method, alpha = SubgradientMethod(agent, case["start"][me : me + 1]), case["alpha"]

    def play(rounds: int) -> np.ndarray:
        method.x = case["start"][me : me + 1]
        method.run(iterations=rounds, stepsize=lambda k: float(alpha[k]))
        world.Barrier()
        return method.x

    def turn(rounds: int) -> np.ndarray:
        world.bcast(rounds)
        return play(rounds)

    if me == 0:
        take_turns(turn)
        world.bcast(0)
    else:
        while rounds := world.bcast(None):
            play(rounds)


if __name__ == "__main__":
    main()
