"""Files, the cache, child processes, signals, and errors of tools. Imports no other folder of the package."""
