"""Benchmarks: ``python -m benchmarks.run`` measures, ``--write`` renews docs/benchmarks.md."""
