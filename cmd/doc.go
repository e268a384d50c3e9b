// Package cmd contains the program concordat, with its command lines, messages and tables. The other packages do the work. Open
// cmd/concordat/program first; its function command lists the commands.
package cmd
