// Package cmd holds the program concordat. The work is done by the other packages; this folder has command lines, words
// and tables. Open cmd/concordat/main.go first: it lists the commands.
package cmd
