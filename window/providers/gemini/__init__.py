"""Google's Gemini contents: parsing, rendering and validation."""
