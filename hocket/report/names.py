"""What algorithms are called in reports."""

from __future__ import annotations

NAMES = {
    "Dgd": "DGD",
    "RssNb": "RSS-NB",
    "RssLb": "RSS-LB",
    "FunctionSharing": "FS",
    "IndependentNoise": "independent noise",
    "PrivateDgd": "private DGD",
    "Centralised": "centralised",
}


def spoken(name: str) -> str:
    """The paper's name of an algorithm; a user's own class keeps its name."""
    return NAMES.get(name, name)
