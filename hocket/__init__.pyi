"""What checkers and editors see: the names that `hocket` loads when they are first used."""

# fmt: off
# ruff: noqa: I001  (a name to a line would be three times as long)

from hocket import (
    learning as learning, privacy as privacy, problems as problems, studies as studies, theory as theory,
)
from hocket.agent import Agent as Agent
from hocket.algorithm import (
    Algorithm as Algorithm, Broadcast as Broadcast, SecureSum as SecureSum, SendEach as SendEach,
)
from hocket.algorithms import (
    AcceleratedTracking as AcceleratedTracking, Admm as Admm, AugDgm as AugDgm, Centralised as Centralised,
    CertifiedRssNb as CertifiedRssNb, Choco as Choco, Dgd as Dgd, ExactDiffusion as ExactDiffusion, Extra as Extra,
    FunctionSharing as FunctionSharing, GradientTracking as GradientTracking,
    IndependentNoise as IndependentNoise, JointAverage as JointAverage, LocalTracking as LocalTracking,
    Nids as Nids, PrivateDgd as PrivateDgd, PushDiging as PushDiging, PushSum as PushSum, RssLb as RssLb,
    RssNb as RssNb, Safeguard as Safeguard,
)
from hocket.algorithms.parts.compressors import (
    Compressor as Compressor, Quantised as Quantised, RandomK as RandomK, TopK as TopK,
)
from hocket.bench import Comparison as Comparison, Tuning as Tuning, compare as compare, tune as tune
from hocket.engines.solver import solve as solve
from hocket.engines.sweep import Sweep as Sweep, sweep as sweep
from hocket.engines.traffic import bytes_per_round as bytes_per_round
from hocket.errors import HocketError as HocketError
from hocket.learning import train as train
from hocket.networks.network import Network as Network
from hocket.privacy import (
    Adversary as Adversary, Horizon as Horizon, Neighbouring as Neighbouring, NoiseSpec as NoiseSpec,
    audit as audit, certify as certify, leakage as leakage,
)
from hocket.problems import ElasticNet as ElasticNet, GroupLasso as GroupLasso, L1 as L1, Proximal as Proximal
from hocket.problems.problem import Problem as Problem
from hocket.problems.sets import Ball as Ball, Box as Box, Everywhere as Everywhere, Simplex as Simplex
from hocket.problems.standard import (
    heterogeneous_polynomials as heterogeneous_polynomials, least_squares as least_squares,
    logistic as logistic, paper_polynomials as paper_polynomials, polynomials as polynomials,
)
from hocket.runs.run import Run as Run
from hocket.runs.view import View as View
from hocket.runs.channel import Channel as Channel
from hocket.steps import Constant as Constant, Derived as Derived, Power as Power, Schedule as Schedule

__version__: str
