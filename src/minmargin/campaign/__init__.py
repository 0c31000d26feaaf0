"""Campaigns: labeling in rounds, with a folder that remembers what was picked, labeled and measured."""

from __future__ import annotations

from minmargin.campaign.campaign import Campaign
from minmargin.campaign.labels import Added
from minmargin.campaign.status import RoundStatus, Status

__all__ = ["Added", "Campaign", "RoundStatus", "Status"]
