"""Brokers to connect to, by what differs from the table file's defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vision.config.table import BrokerSection
from vision.mqtt.endpoint import Endpoint, endpoint_of


def endpoint_at(**changes: Any) -> Endpoint:
    """Return the endpoint of the default [broker] section with these fields changed."""
    return replace(endpoint_of(BrokerSection()), **changes)
