"""Encoders to MX formats: block converter, scale unit, element quantizers."""
