// Package passwords hashes and verifies passwords, a few at a time, and rejects passwords that many people use. It does not decide who may
// sign in with one. Open password.go first; common.txt is the list of rejected passwords, with its licence.
package passwords
