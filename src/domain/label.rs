//! What a person says about a fixture.
