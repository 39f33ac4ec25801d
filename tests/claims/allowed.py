"""Who may speak of a theorem, a certificate or an ε, and as what; see `texts`.

A module that *claims* prints a number or a theorem that holds: its claims are cells of the matrix, or the laws of
`tests/` that are named. The others refuse, explain, pass on what others claim, or speak of TLS certificates.
"""

from __future__ import annotations

CERTIFICATE = "claims: the certificate, every cell of which is played"
REFUSES = "refuses, or says what is assumed"
PASSES = "passes on what others claim"
CONVERGENCE = "claims: theorems of convergence, held against runs in tests/laws/test_theory.py"
TOTALS = "claims: Theorem T of sums, held against played sums in tests/laws and tests/peers"
TLS = "speaks of TLS certificates"

MAY_SPEAK = {
    "algorithm.py": REFUSES,
    "algorithms/function_sharing.py": REFUSES,
    "algorithms/independent_noise.py": REFUSES,
    "algorithms/private_dgd.py": "claims: an ε, the cells of PrivateDgd",
    "algorithms/rss_nb_noise.py": REFUSES,
    "bench/page.py": REFUSES,
    "cli/certify.py": PASSES,
    "cli/peer/cards.py": TLS,
    "cli/peer/common.py": REFUSES,
    "cli/peer/epsilon.py": "explains an option",
    "cli/peer/plan.py": "explains an option",
    "cli/relay.py": TLS,
    "cli/reproduce.py": "explains an option",
    "config/sections.py": "explains a key",
    "federation/account.py": "claims: ε over all runs of the same data, held in tests/peers/test_account.py",
    "federation/cards.py": TLS,
    "federation/certificate_check.py": CERTIFICATE,
    "federation/expiry.py": TLS,
    "federation/member.py": TLS,
    "federation/plan.py": TLS,
    "federation/plan_audit.py": PASSES,
    "federation/plan_certificate.py": CERTIFICATE,
    "federation/plan_draft.py": PASSES,
    "federation/plan_file.py": PASSES,
    "federation/plan_sections.py": "explains a key",
    "federation/record_bounds.py": REFUSES,
    "federation/remainder.py": TOTALS,
    "federation/served_plan.py": PASSES,
    "federation/study_audit.py": TOTALS,
    "federation/study_seal.py": TLS,
    "learning/training.py": REFUSES,
    "learning/training_report.py": "claims: the ε of DpSgd, the cells of training",
    "links/handshake.py": TLS,
    "links/identity.py": TLS,
    "links/line.py": TLS,
    "links/relay/outbound.py": TLS,
    "privacy/__init__.py": "names",
    "privacy/certificates/__init__.py": "names",
    "privacy/certificates/certificate.py": CERTIFICATE,
    "privacy/certificates/certify.py": CERTIFICATE,
    "privacy/certificates/conditions.py": REFUSES,
    "privacy/certificates/linearised.py": REFUSES,
    "privacy/certificates/looks.py": REFUSES,
    "privacy/certificates/planner.py": PASSES,
    "privacy/certificates/refusals.py": REFUSES,
    "privacy/certificates/question.py": REFUSES,
    "privacy/certificates/source.py": REFUSES,
    "privacy/certificates/vouched.py": REFUSES,
    "privacy/topology/guarantees.py": "claims: P1 and P2, held against every coalition in tests/laws/test_privacy.py",
    "privacy/verdict/audit.py": PASSES,
    "privacy/verdict/findings.py": PASSES,
    "privacy/verdict/measurements.py": PASSES,
    "privacy/verdict/sentences.py": TOTALS,
    "privacy/verdict/theorem.py": "claims: Theorem 2, held against witnesses in tests/laws/test_privacy.py",
    "privacy/witness/functions.py": REFUSES,
    "report/audit_page.py": PASSES,
    "report/audit_rows.py": PASSES,
    "report/exposure.py": PASSES,
    "report/folder.py": PASSES,
    "report/legend.py": PASSES,
    "report/tables.py": PASSES,
    "runs/at_home.py": REFUSES,
    "runs/storage.py": PASSES,
    "runs/theorems.py": CONVERGENCE,
    "runs/weather.py": REFUSES,
    "studies/promise.py": "claims: a study's ε, held against played totals in tests/studies/test_promise.py",
    "studies/results_page.py": TOTALS,
    "studies/seen.py": TOTALS,
    "theory/__init__.py": "names",
    "theory/bound.py": CONVERGENCE,
    "theory/finite_time.py": CONVERGENCE,
    "theory/monitor.py": CONVERGENCE,
}
