// Package cmd contains the program concordat: its command lines, messages and tables. Other packages do the work. Open
// cmd/concordat/main.go first; it lists the commands.
package cmd
