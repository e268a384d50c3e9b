// Package wire converts the messages of partners to bytes and back: the payloads inside sealed envelopes, byte by byte as described in
// doc/format-federation.md.
//
// Each message has one layout, written and read by the same function (see coder). Append functions return the same bytes for the same
// message; Parse functions accept exactly the output of Append functions, which has a fixed layout, is big-endian, and has no optional
// fields or trailing bytes. The memory allocated by a Parse function is limited to a fixed multiple of its input, whatever counts the
// input claims. All functions are pure; randomness is passed in.
//
// [Pad] hides the number and order of a document's sentences. The envelope (package crypto) hides the length of a payload.
package wire
