"""The machine around the package: files, the cache, child processes, and tools that are missing. Imports nothing of
ours.
"""
