"""Driving a model through camera frames: each goes through the warp of its camera, the queues and the model, as in a car."""
