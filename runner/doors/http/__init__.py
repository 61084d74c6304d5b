"""The HTTP door: `/v1` over one `Service`. Translation, limits of transport, and who is asking; no rules of its own."""
