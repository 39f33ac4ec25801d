"""Claims about privacy; they await the auditor."""

from __future__ import annotations

from hocket.experiments.claims.ledger import Claim, Group

PRIVACY = Group(
    "Privacy",
    (
        Claim(
            "dgd-leaks",
            "Section III-A",
            "An adversary may learn an agent's objective by observing DGD.",
            awaits="the auditor",
        ),
        Claim(
            "noise-hides",
            "Section IV",
            "Noise on states creates ambiguity; a larger Δ gives greater privacy.",
            awaits="the auditor",
        ),
        Claim(
            "p1",
            "Theorem 2",
            "P1: with minimum degree ≥ f+1, what is seen is compatible with any objective of any one agent.",
            awaits="the auditor",
        ),
        Claim(
            "p1-necessary",
            "Appendix, proof of Theorem 2",
            "P1 is lost where an agent's neighbours all collude.",
            awaits="the auditor",
        ),
        Claim(
            "p2",
            "Theorem 2",
            "P2: with connectivity ≥ f+1, what is seen is compatible with any objectives of any set of honest agents.",
            awaits="the auditor",
        ),
        Claim(
            "p2-necessary",
            "Appendix, proof of Theorem 2",
            "P2 is lost where the coalition cuts the network: sums over components are exposed.",
            awaits="the auditor",
        ),
        Claim(
            "witness",
            "Remark 1",
            "Other noise functions are found by solving along a spanning tree of the honest agents.",
            awaits="the auditor",
        ),
        Claim(
            "equally-likely",
            "Appendix, proof of Theorem 2",
            "Any estimate of the objectives is equally likely to the adversary.",
            awaits="the auditor",
        ),
    ),
)
