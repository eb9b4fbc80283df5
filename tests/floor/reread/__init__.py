"""Tests of reading recordings again."""
