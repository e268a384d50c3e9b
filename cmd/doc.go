// Package cmd holds the program concordat: command lines, words and tables. Other packages do the work. Open
// cmd/concordat/main.go first, which lists the commands.
package cmd
