"""OpenTelemetry: a span and measurements for every compression; requires the extra `otel`."""

from polycontext.base import require_extra

# Checked before the import below, so that the error names the extra to install.
require_extra("opentelemetry", extra="otel", purpose="telemetry")

from .compressions import CompressionTelemetry  # noqa: E402

__all__ = ["CompressionTelemetry"]
