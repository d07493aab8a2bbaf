"""Models in folders: shards, configurations, resumed conversions."""
