"""The commands of the driver, one file each; the only place that knows click."""
