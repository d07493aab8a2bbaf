"""Layouts: how libraries store codes and scales."""
