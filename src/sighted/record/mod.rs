//! Release records, sign-offs, verification and the gate.
