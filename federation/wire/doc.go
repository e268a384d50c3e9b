// Package wire turns what partners say to each other into bytes and back: the payloads inside sealed
// envelopes, byte by byte as doc/format-federation.md has them.
//
// Each message has one layout, which the same function writes and reads (see coder). Append functions
// give the same bytes for the same message; Parse functions accept exactly what Append functions give:
// a fixed layout, big-endian, without optional fields or trailing bytes. What a Parse function allocates
// is bounded by a fixed multiple of its input, whatever counts the input claims. All functions are pure;
// randomness is passed in.
//
// [Pad] hides how many sentences a document has and in which order they stand. The length of a payload
// is hidden by the envelope (package crypto).
package wire
