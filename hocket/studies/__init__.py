"""Studies: a table at each member, one formula, and results as if all rows lay in one place; only sums are ever seen.

    study = read_study(Path("study.toml"))
    results = simulate(study, {"a": read_table(Path("a.csv")), "b": read_table(Path("b.csv"))})
    results.data["coefficients"]["age"]

An analysis is written once, for one member, as a generator: `total = yield SecureSum(values)` gives back the sum over
all members. See `minimise` for the shortest one that is of use by itself.
"""

from hocket.studies.analysis import Findings, analyse
from hocket.studies.check import Check, check_table
from hocket.studies.data.table import Table, read_table
from hocket.studies.models.minimise import minimise
from hocket.studies.results.results import Results
from hocket.studies.simulate import simulate, simulate_analysis
from hocket.studies.spec.study import Study, parse_study, read_study
from hocket.studies.together import Analysis, together

__all__ = [
    "Analysis",
    "Check",
    "Findings",
    "Results",
    "Study",
    "Table",
    "analyse",
    "check_table",
    "minimise",
    "parse_study",
    "read_study",
    "read_table",
    "simulate",
    "simulate_analysis",
    "together",
]
