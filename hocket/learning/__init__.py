"""Learning: train any JAX model across agents, with any of the algorithms.

from hocket import learning

data = learning.mnist("my-data")
run = hk.train(learning.mlp(), learning.equal_shards(data.train, 5), hk.Network.cycle(5), hk.RssNb(1.0),
               test=data.test, epochs=20)
"""

from hocket.learning.accuracy import evaluate
from hocket.learning.baselines import Alone, DpSgd
from hocket.learning.canary import canary_bound
from hocket.learning.clipping import Clip
from hocket.learning.data import Dataset, Split, digits, mnist
from hocket.learning.minibatches import gradient_rms
from hocket.learning.models import Model, as_model, cnn, logistic_regression, mlp
from hocket.learning.shards import Shards, dirichlet_shards, equal_shards, label_shards, own_shards
from hocket.learning.training import train

__all__ = [
    "Alone",
    "Clip",
    "Dataset",
    "DpSgd",
    "Model",
    "Shards",
    "Split",
    "as_model",
    "canary_bound",
    "cnn",
    "digits",
    "dirichlet_shards",
    "equal_shards",
    "evaluate",
    "gradient_rms",
    "label_shards",
    "logistic_regression",
    "mlp",
    "mnist",
    "own_shards",
    "train",
]
