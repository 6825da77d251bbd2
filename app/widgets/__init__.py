"""Plots and small parts that views are made of; they know colours and numbers, not models."""
