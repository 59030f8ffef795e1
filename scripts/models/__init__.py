"""The bundled tiny models: their task, their training, their files (docs/bundled_models.md)."""
