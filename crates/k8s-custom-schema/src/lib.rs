//! Schemas of custom resources: structural rules, pruning, defaults, validation, CEL.
