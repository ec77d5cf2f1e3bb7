"""The command line: each command is a function that reads its options, calls one other package and shows the answer."""

from ._agent import agent
from ._app import app as app, main as main, register
from ._map import MAP_OPTIONS, map_
from ._next import next_
from ._plan import PLAN_OPTIONS, plan
from ._project import RUN_OPTIONS, demo, init, response_error, run
from ._rid import RID_OPTIONS, rid
from ._studies import coverage, reproduce
from ._verify import show, verify
from ._watch import WATCH_OPTIONS, watch

# In the order of the help.
register(init, {"example": "--example"})
register(run, RUN_OPTIONS)
register(map_, MAP_OPTIONS, "map")
register(watch, WATCH_OPTIONS)
register(rid, RID_OPTIONS)
register(show, {})
register(verify, {})
register(response_error, {}, "response-error")
register(next_, {}, "next")
register(plan, PLAN_OPTIONS)
register(agent, {})
register(demo, {})
register(reproduce, {})
register(coverage, {})
