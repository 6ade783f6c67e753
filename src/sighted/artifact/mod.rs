//! Model files: hash, graph facts, refusals, sidecar. Nothing here runs a model.
