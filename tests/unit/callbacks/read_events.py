"""Prints each scalar of each run as TensorBoard's own reader finds it: `run tag step value`, sorted."""

import os
import sys

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

for run in sorted(os.listdir(sys.argv[1])):
    events = event_accumulator.EventAccumulator(os.path.join(sys.argv[1], run), size_guidance={"tensors": 0})
    events.Reload()
    assert events.Tags()["scalars"] == []  # those of TensorFlow 1
    for tag in sorted(events.PluginTagToContent("scalars")):
        assert events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars"
        for event in events.Tensors(tag):
            print(run, tag, event.step, repr(tensor_util.make_ndarray(event.tensor_proto).item()))
