// Package cmd holds the programs: concordat, which people install, and concordat-lab, which measures it. What they do is in
// the other packages; here are command lines, words and tables. Open cmd/concordat/main.go first: it lists the commands.
package cmd
