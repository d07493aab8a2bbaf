"""Binary32 arithmetic of magnitudes in hardware."""
