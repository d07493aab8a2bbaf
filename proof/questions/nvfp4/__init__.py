"""Questions about converters to and from NVFP4: lemmas about their modules."""
