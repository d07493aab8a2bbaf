"""What was measured: by our commands in `bench/`, and by others. Data only; a wheel has what the package reads."""
