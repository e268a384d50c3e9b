// Package passwords hashes and verifies passwords, a few at a time, and refuses those that many people use. Who may sign in
// with one is not decided here. Open password.go first; common.txt is the list of refused passwords, with its licence.
package passwords
