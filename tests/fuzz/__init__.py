"""Hostile outputs for every pair of formats: made up, mutated, cut and endless."""
