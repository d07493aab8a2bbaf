"""Element quantizers for gates and LUTs of four inputs."""
