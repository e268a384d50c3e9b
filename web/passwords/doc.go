// Package passwords hashes and verifies passwords, a few at a time, and rejects common passwords. It does not decide who may sign in with
// one. Start with password.go; common.txt is the list of rejected passwords, with its licence.
package passwords
