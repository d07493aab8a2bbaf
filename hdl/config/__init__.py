"""Hardware configurations: an operation, a micro-architecture, and the stages that have registers."""
