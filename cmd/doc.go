// Package cmd contains the program concordat, with its command lines, messages and tables. The other packages do the work. Open
// cmd/concordat/program/program.go first; it lists the commands.
package cmd
