"""The laws that hold for every pair of the registry, whatever the model writes."""
