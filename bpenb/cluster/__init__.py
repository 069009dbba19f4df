"""Counting on a cluster: shards are counted and merged by workers on many machines.

corpus → plan → [a worker: shard → partial counts] → [a worker: partials of a partition → one] → WordCounts

What travels are paths; what is counted lies in files that appear when they are complete, so a task may run
twice, and a run that was broken off goes on. All of it but `on_dask.py` and `actors.py` knows no engine.

Learning (merging.py): WordCounts → a shard of the words in each worker ⇄ who decides → merges
"""

from bpenb.cluster.door import ClusterResult, Engine, Event, count_with
from bpenb.cluster.merging import learn_with
from bpenb.cluster.on_dask import dask_engine
from bpenb.cluster.settings import Cluster
from bpenb.cluster.tasks import Done, Stated, Task, perform

__all__ = ["Cluster", "ClusterResult", "Done", "Engine", "Event", "Stated", "Task", "count_with",
           "dask_engine", "learn_with", "perform"]  # fmt: skip
