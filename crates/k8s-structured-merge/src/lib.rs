//! Server-side apply: sets of fields, managedFields, merge and conflicts.
