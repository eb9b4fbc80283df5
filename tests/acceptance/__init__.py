"""Tests of `vision.acceptance`."""
