"""Studies: a table at each member, one formula, and results as if all rows lay in one place; only sums are ever seen.

    study = read_study(Path("study.toml"))
    results = rehearse(study, {"a": read_table(Path("a.csv")), "b": read_table(Path("b.csv"))})
    results.data["coefficients"]["age"]

An analysis is written once, for one member, as a generator: `total = yield Total(values)` gives back the sum over all
members. See `minimise` for the shortest one that is of use by itself.
"""

from hocket.studies.analysis import Findings, analyse
from hocket.studies.check import Check, check_table
from hocket.studies.minimise import minimise
from hocket.studies.rehearsal import rehearse, rehearse_analysis
from hocket.studies.results import Results
from hocket.studies.study import Study, parse_study, read_study
from hocket.studies.table import Table, read_table
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
    "rehearse",
    "rehearse_analysis",
    "together",
]
