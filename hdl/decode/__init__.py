"""Decoders of MX formats: block decoder and element decoders."""
