//! Bytes to pixels: limits, decoding, orientation, the resize kernel of the recipe. Pure.
