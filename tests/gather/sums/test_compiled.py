"""Compiled functions travel to workers that may not have them."""

import subprocess
import sys

import pytest

from dpselect.gather.add_up import add_up_arrow
from dpselect.gather.add_up_blocks import add_up_blocks_arrow
from dpselect.gather.sums.compiled import compiled_function

WITHOUT_DPSELECT = """
import pickle, sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dpselect":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
add, blocks, function = pickle.loads(sys.stdin.buffer.read())
assert callable(add) and callable(blocks)
print(function)
"""


def test_a_module_that_was_not_built_has_no_functions():
    assert compiled_function("_nowhere", "put_rows") is None


def test_a_worker_without_dpselect_takes_the_numpy_twin():
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="No Spark: pip install 'dpselect[spark]'.")
    package = sys.modules["dpselect"]
    cloudpickle.register_pickle_by_value(package)
    try:
        sent = cloudpickle.dumps((add_up_arrow, add_up_blocks_arrow, compiled_function("_grid", "put_rows")))
    finally:
        cloudpickle.unregister_pickle_by_value(package)
    done = subprocess.run([sys.executable, "-c", WITHOUT_DPSELECT], input=sent, capture_output=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, b"None"), done.stderr[-2000:]
