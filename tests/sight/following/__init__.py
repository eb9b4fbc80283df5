"""Tests of following cards."""
