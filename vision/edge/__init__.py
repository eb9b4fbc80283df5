"""Everything that can fail for outside reasons: camera, model files, broker, disk."""
