// Package wire turns the messages of partners into bytes and back: the payloads inside sealed envelopes, byte by byte as described in
// doc/format-federation.md.
//
// Each message has one layout, which the same function writes and reads (see coder). Append functions return the same bytes for the same
// message; Parse functions accept exactly the output of Append functions: a fixed layout, big-endian, without optional fields or trailing
// bytes. The memory that a Parse function allocates is bounded by a fixed multiple of its input, whatever counts the input claims. All
// functions are pure; randomness is passed in.
//
// [Pad] hides the number and order of a document's sentences. The envelope (package crypto) hides the length of a payload.
package wire
